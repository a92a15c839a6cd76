use proptest::prelude::*;

use super::*;

fn below(path: &str, prefix: usize) -> Result<(String, bool), Unnamed> {
    name(path.as_bytes(), prefix).map(|named| {
        let text = String::from_utf8_lossy(&named.below).into_owned();
        (text, named.is_directory)
    })
}

#[test]
fn a_segment_is_decoded_exactly_once() {
    for (path, named) in [
        ("/a", "a"),
        ("/a%20b/c+d", "a b/c+d"),
        ("/%252e%252e/x", "%2e%2e/x"),
        ("/%61", "a"),
        ("/100%25", "100%"),
        ("/a:b;c", "a:b;c"),
    ] {
        assert_eq!(below(path, 0), Ok((named.to_owned(), false)), "{path}");
    }
    assert_eq!(name(b"/%c0%ae%ff", 0).unwrap().below, b"\xc0\xae\xff");
}

#[test]
fn a_path_that_could_be_read_in_two_ways_is_malformed() {
    for path in [
        "/..",
        "/.",
        "/a/../b",
        "/%2e%2e/a",
        "/.%2E",
        "/a/%2e",
        "/..%2fetc",
        "/a%2Fb",
        "/a%5cb",
        "/a\\b",
        "/a%00.txt",
        "/a%",
        "/a%2",
        "/%zz",
        "/a%u0041",
        "/.git/..",
        "",
        "a",
        "*",
    ] {
        assert_eq!(below(path, 0), Err(Unnamed::Malformed), "{path}");
    }
}

#[test]
fn dot_files_are_hidden_and_the_well_known_begins_at_the_top() {
    for path in [
        "/.env",
        "/.git/config",
        "/a/.b",
        "/%2egit",
        "/...",
        "/..a",
        "/a/.well-known/x",
        "/.well-known/.x",
        "/.WELL-KNOWN/x",
        "/.well-known.bak",
    ] {
        assert_eq!(below(path, 0), Err(Unnamed::Hidden), "{path}");
    }
    let found = Ok((".well-known/x".to_owned(), false));
    assert_eq!(below("/.well-known/x", 0), found);
    assert_eq!(below("/s/.well-known/x", 1), Err(Unnamed::Hidden));
    assert_eq!(below("/.well-known/x", 1), Ok(("x".to_owned(), false)));
}

#[test]
fn the_prefix_of_a_route_is_no_part_of_a_name() {
    for (path, prefix, named) in [
        ("/", 0, ("", true)),
        ("/s", 1, ("", false)),
        ("/s/", 1, ("", true)),
        ("/s/a", 1, ("a", false)),
        ("/s/a/", 1, ("a", true)),
        ("/s/t/a/b", 2, ("a/b", false)),
        ("/s", 3, ("", false)),
    ] {
        let named = Ok((named.0.to_owned(), named.1));
        assert_eq!(below(path, prefix), named, "{path}");
    }
    for path in ["//", "//a", "/a//b", "/a//"] {
        assert_eq!(below(path, 0), Err(Unnamed::Nothing), "{path}");
    }
}

#[test]
fn the_address_of_a_directory_is_a_path_of_this_site() {
    for (target, location) in [
        ("/dir", "/dir/"),
        ("/dir?a=%2f&b", "/dir/?a=%2f&b"),
        ("/dir?", "/dir/?"),
        ("//evil.test", "/evil.test/"),
        ("///evil.test?x", "/evil.test/?x"),
        ("/%2f/evil.test", "/%2F/evil.test/"),
        ("/\\evil.test", "/%5Cevil.test/"),
        ("/%5cevil.test", "/%5Cevil.test/"),
        ("/a%0d%0aSet-Cookie:x", "/a%0D%0ASet-Cookie:x/"),
        ("/a?\r\nX: y", "/a/?%0D%0AX:%20y"),
        ("/é", "/%C3%A9/"),
    ] {
        assert_eq!(with_slash(target.as_bytes()).unwrap(), location);
    }
}

proptest! {
    #[test]
    fn nothing_that_is_named_can_be_read_in_two_ways(path in any::<Vec<u8>>(), prefix in 0_usize..3) {
        let mut whole = b"/".to_vec();
        whole.extend(path);
        if let Ok(named) = name(&whole, prefix) {
            prop_assert!(!named.below.starts_with(b"/"));
            for one in named.below.split(|byte| *byte == b'/') {
                prop_assert!(!matches!(one, b"." | b".."));
                prop_assert!(!one.contains(&0) && !one.contains(&b'\\'));
            }
        }
    }

    #[test]
    fn a_location_never_leads_to_another_host(target in "[/\\\\%25cCfF.?#a@:\r\n\t é]{0,16}") {
        if let Some(location) = with_slash(format!("/{target}").as_bytes()) {
            prop_assert!(location.starts_with('/'));
            prop_assert!(!location.starts_with("//") && !location.starts_with("/\\"));
            prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
        }
    }

    #[test]
    fn a_reference_leads_back_to_its_name(name in any::<Vec<u8>>()) {
        prop_assume!(!name.is_empty() && is_shown(&name));
        let mut asked = b"/".to_vec();
        asked.extend(reference(&name).strip_prefix("./").unwrap().bytes());
        prop_assert_eq!(super::name(&asked, 0).unwrap().below, name);
    }
}
