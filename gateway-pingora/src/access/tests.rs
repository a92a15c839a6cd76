use gateway_config::model::LogLevel;

use super::*;

/// What case 41 names, and its relatives.
const HOSTILE: [&[u8]; 10] = [
    b"/%0d%0aHTTP/1.1 200",
    b"/\r\n\"} {\"id\":\"forged",
    b"/\x1b[2J\x1b]0;x\x07",
    "/\u{85}\u{2028}\u{2029}\u{9b}2J".as_bytes(),
    b"/\" 200 0 \"-\" \"-\"",
    b"/\\\" \\",
    b"/\xff\xfe\xc3\x28\x00\x7f",
    "/\u{1f600}\u{e9}".as_bytes(),
    b"/\t\x0b\x0c",
    b"",
];

fn line(target: &[u8], field: &[u8], logs: &Logs) -> Vec<u8> {
    let text = String::from_utf8_lossy(field).into_owned();
    let line = AccessLine {
        host: Some(&text),
        method: Some("GET"),
        target: Some(target),
        protocol: Some("HTTP/2"),
        status: Some(200),
        bytes_out: 7,
        referrer: Some(field),
        agent: Some(field),
        ..AccessLine::unread("id", IpAddr::from([192, 0, 2, 1]), "web")
    };
    line.written(logs).unwrap()
}

fn logs(format: LogFormat, redact: &[&str]) -> Logs {
    Logs {
        format,
        redact: redact.iter().map(|&one| one.into()).collect(),
        level: LogLevel::Info,
    }
}

fn combined(target: &str, redact: &[&str]) -> String {
    let line = line(target.as_bytes(), b"", &logs(LogFormat::Combined, redact));
    let line = String::from_utf8(line).unwrap();
    let request = line.split('"').nth(1).unwrap();
    request.to_owned()
}

#[test]
fn whatever_is_sent_a_line_is_one_line_of_visible_ascii() {
    let long = vec![0x85; 60 * 1024];
    for format in [LogFormat::Combined, LogFormat::Json] {
        for sent in HOSTILE.into_iter().chain([&*long]) {
            let line = line(sent, sent, &logs(format, &[]));
            let (end, text) = line.split_last().unwrap();
            assert_eq!(*end, b'\n');
            assert!(
                text.iter().all(|byte| (b' '..=b'~').contains(byte)),
                "{format:?} {}",
                String::from_utf8_lossy(text)
            );
            assert!(line.len() < 10 * 1024, "{}", line.len());
            match format {
                LogFormat::Json => {
                    let read: serde_json::Value = serde_json::from_slice(text).unwrap();
                    assert_eq!(read["id"], "id");
                    assert_eq!(read["status"], 200);
                }
                // Request, referrer and agent are between six quotes, and no more.
                LogFormat::Combined => {
                    let quotes = text.iter().filter(|&&byte| byte == b'"').count();
                    assert_eq!(quotes, 6, "{}", String::from_utf8_lossy(text));
                }
            }
        }
    }
}

#[test]
fn a_line_is_what_tools_expect_of_the_combined_format() {
    let line = line(b"/a?b=c", b"x\"y", &logs(LogFormat::Combined, &[]));
    let line = String::from_utf8(line).unwrap();
    let (before, after) = line.split_once(" - - [").unwrap();
    assert_eq!(before, "192.0.2.1");
    let (date, after) = after.split_once("] ").unwrap();
    assert_eq!(date.len(), "30/Nov/2026:08:49:01 +0000".len());
    assert_eq!(
        after,
        "\"GET /a?b=c HTTP/2.0\" 200 7 \"x\\x22y\" \"x\\x22y\"\n"
    );
}

#[test]
fn json_has_the_path_and_no_query() {
    let line = line(b"/a%20b?token=x", b"h", &logs(LogFormat::Json, &[]));
    let read: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(read["path"], "/a%20b");
    assert!(!String::from_utf8(line).unwrap().contains("token"));
}

#[test]
fn values_of_listed_keys_are_masked_however_the_key_is_spelled() {
    for (sent, written) in [
        ("/?token=s3&a=1", "/?token=***&a=1"),
        ("/?a=1;token=s3;b=2", "/?a=1;token=***;b=2"),
        ("/?TOKEN=s3", "/?TOKEN=***"),
        (
            "/?%74oken=s3&token%5B%5D=s3",
            "/?%74oken=***&token%5B%5D=***",
        ),
        ("/?token=a=b&token=", "/?token=***&token=***"),
        ("/?tokens=1&xtoken=2&token", "/?tokens=1&xtoken=2&token"),
        ("/token=1?a%3Dtoken=2", "/token=1?a%3Dtoken=2"),
        ("/?a=%&%zz=1&%7", "/?a=%&%zz=1&%7"),
        (
            "http://h/?token=s3#token=s4",
            "http://h/?token=***#token=***",
        ),
    ] {
        let request = format!("GET {written} HTTP/2.0");
        assert_eq!(combined(sent, &["token"]), request);
    }
    let referrer = line(
        b"/",
        b"https://a/?token=s3",
        &logs(LogFormat::Combined, &["token"]),
    );
    let referrer = String::from_utf8(referrer).unwrap();
    assert!(referrer.contains("\"https://a/?token=***\""), "{referrer}");
}
