use super::*;

fn listener(addr: SocketAddr) -> Listener {
    Listener::new("a".into(), addr)
}

fn prepared(from: &Sockets, addr: SocketAddr, workers: usize) -> Result<Sockets, Fault> {
    let planned = from.prepare(&[listener(addr)], workers);
    planned.and_then(|planned| planned.listen().map(|()| from.with(planned)))
}

fn on(sockets: &Sockets, addr: SocketAddr) -> &Bound {
    let key = Key::of(&listener(addr)).next().unwrap();
    sockets.get(&key).unwrap()
}

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

#[test]
fn workers_share_a_port_and_nobody_else_does() {
    let ours = prepared(&Sockets::default(), any(), 3).unwrap();
    let bound = on(&ours, any());
    assert_eq!(bound.sockets.len(), 3);
    for socket in &bound.sockets {
        assert_eq!(socket.local_addr().unwrap(), bound.addr);
    }
    let refused = prepared(&Sockets::default(), bound.addr, 1).unwrap_err();
    assert!(refused.to_string().contains("in use"), "{refused}");
}

#[test]
fn what_listens_is_shared_by_us_alone_and_goes_to_no_child() {
    use std::os::fd::AsRawFd;
    let ours = prepared(&Sockets::default(), any(), 2).unwrap();
    for socket in &on(&ours, any()).sockets {
        let seen = SockRef::from(&**socket);
        assert!(seen.is_listener().unwrap());
        assert!(seen.reuse_address().unwrap() && seen.reuse_port().unwrap());
        let info = format!("/proc/self/fdinfo/{}", socket.as_raw_fd());
        let info = std::fs::read_to_string(info).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = u32::from_str_radix(flags.unwrap().trim(), 8).unwrap();
        assert_ne!(flags & 0o2_000_000, 0, "close-on-exec");
    }
}

#[test]
fn what_is_asked_of_a_socket_of_ipv6_is_on_it() {
    for (v6only, addr) in [
        (true, "[::1]:0"),
        (false, "[::1]:0"),
        (true, "[::]:0"),
        (false, "[::]:0"),
    ] {
        let asked = Listener {
            v6only,
            ..listener(addr.parse().unwrap())
        };
        let none = Sockets::default();
        let planned = none.prepare(std::slice::from_ref(&asked), 2).unwrap();
        planned.listen().unwrap();
        let ours = none.with(planned);
        let bound = ours.get(&Key::of(&asked).next().unwrap()).unwrap();
        assert_eq!(bound.sockets.len(), 2);
        let is_wide = bound.addr.ip().is_unspecified();
        for socket in &bound.sockets {
            let seen = SockRef::from(&**socket).only_v6().unwrap();
            // The system says so of an address that is no other anyway.
            assert_eq!(seen, v6only || !is_wide, "{addr}");
        }
        let old = SocketAddr::from(([127, 0, 0, 1], bound.addr.port()));
        let reaches = std::net::TcpStream::connect(old).is_ok();
        assert_eq!(reaches, !v6only && is_wide, "{addr} {v6only}");
    }
}

/// How many clients have a connection that nobody accepts, if so many try.
fn waiting(backlog: Option<u32>, tries: usize) -> usize {
    let mut asked = listener(any());
    asked.backlog = backlog.unwrap_or(asked.backlog);
    let none = Sockets::default();
    let planned = none.prepare(&[asked], 1).unwrap();
    planned.listen().unwrap();
    let ours = none.with(planned);
    let addr = on(&ours, any()).addr;
    let patience = std::time::Duration::from_millis(500);
    let connect = |_| std::net::TcpStream::connect_timeout(&addr, patience).ok();
    let clients: Vec<_> = (0..tries).map_while(connect).collect();
    clients.len()
}

#[test]
fn as_many_wait_as_the_listener_says_or_the_system_allows() {
    // Linux lets one more in (`sk_acceptq_is_full`).
    assert_eq!(waiting(Some(3), 6), 4);
    let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let most: usize = most.trim().parse().unwrap();
    assert_eq!(listener(any()).backlog, 65_535);
    // Far beyond what a program gets that does not ask.
    let many = most.min(600);
    assert_eq!(waiting(None, many), many);
}

/// A socket of somebody else, as most programs bind theirs.
fn theirs(addr: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(addr)
}

#[test]
fn what_is_planned_on_a_new_address_takes_nobody_and_nobody_takes_it() {
    let addr = prepared(&Sockets::default(), any(), 1);
    let addr = on(&addr.unwrap(), any()).addr;
    let none = Sockets::default();
    let plan = none.prepare(&[listener(addr)], 3).unwrap();

    let refused = std::net::TcpStream::connect(addr).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    assert!(theirs(addr).is_err());
    // Nor another gateway, which is at the same.
    assert!(none.prepare(&[listener(addr)], 3).is_err());
    plan.listen().unwrap();
    let _client = std::net::TcpStream::connect(addr).unwrap();
    let ours = none.with(plan);
    let sockets = on(&ours, addr).sockets.iter();
    assert_eq!(sockets.filter(|one| one.accept().is_ok()).count(), 1);
}

#[test]
fn who_has_come_to_listen_meanwhile_is_told_with_the_listener() {
    let free = prepared(&Sockets::default(), any(), 1).unwrap();
    let addr = on(&free, any()).addr;
    drop(free);
    let none = Sockets::default();
    let plan = none.prepare(&[listener(addr)], 1).unwrap();
    for asked in plan.0.values() {
        // As if somebody came between two of our steps.
        SockRef::from(&*asked.missing[0])
            .set_reuse_address(true)
            .unwrap();
    }
    let _theirs = theirs(addr).unwrap();

    let refused = plan.listen().unwrap_err();

    let Fault::Bind { listener, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(&**listener, "a");
    assert!(refused.to_string().contains("in use"), "{refused}");
}

#[test]
fn sockets_are_kept_whatever_the_number_of_workers() {
    let one = prepared(&Sockets::default(), any(), 1).unwrap();
    let three = prepared(&one, any(), 3).unwrap();
    let again = prepared(&three, any(), 1).unwrap();
    assert_eq!(on(&again, any()).sockets.len(), 3);
    assert!(Arc::ptr_eq(
        &on(&one, any()).sockets[0],
        &on(&again, any()).sockets[0]
    ));
}

#[test]
fn what_is_only_planned_takes_no_connection() {
    for (served, planned) in [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1")] {
        let served = SocketAddr::new(served.parse().unwrap(), 0);
        let mut ours = prepared(&Sockets::default(), served, 1).unwrap();
        let served = SocketAddr::new(served.ip(), on(&ours, served).addr.port());
        // Known by its port from here on.
        ours = prepared(&ours, served, 1).unwrap();
        let planned = SocketAddr::new(planned.parse().unwrap(), served.port());
        let all = [listener(planned)];
        let plan = ours.prepare(&all, 8).unwrap();

        let clients = (0..50).map(|_| std::net::TcpStream::connect(planned).unwrap());
        let clients: Vec<_> = clients.collect();

        let accepts = |one: &Arc<TcpListener>| std::iter::from_fn(|| one.accept().ok()).count();
        let sockets = &on(&ours, served).sockets;
        assert_eq!(sockets.iter().map(accepts).sum::<usize>(), clients.len());
        drop(plan);
    }
}

#[test]
fn an_address_within_one_of_ours_can_be_bound_before_that_one_is_closed() {
    let wide = prepared(&Sockets::default(), "0.0.0.0:0".parse().unwrap(), 1).unwrap();
    let port = on(&wide, "0.0.0.0:0".parse().unwrap()).addr.port();
    let narrow = SocketAddr::from(([127, 0, 0, 1], port));
    let next = prepared(&wide, narrow, 1).unwrap();
    assert_eq!(on(&next, narrow).addr, narrow);
}

#[test]
fn a_socket_that_was_lent_is_taken_and_not_bound_again() {
    let lent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = lent.local_addr().unwrap();
    let none = Sockets::lent(vec![lent]);
    let planned = none.prepare(&[listener(addr)], 2).unwrap();
    assert_eq!(none.idle(&planned).count(), 0);
    let ours = none.with(planned);
    // It does not share its port, so all workers take turns on it.
    let [only] = &on(&ours, addr).sockets[..] else {
        panic!("{ours:?}");
    };
    assert!(ours.is_lent(only));
}

#[test]
fn a_socket_that_was_lent_is_there_again_when_it_is_asked_for_again() {
    let lent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = lent.local_addr().unwrap();
    let none = Sockets::lent(vec![lent]);
    let ours = none.with(none.prepare(&[listener(addr)], 1).unwrap());
    let planned = ours.prepare(&[], 1).unwrap();
    assert_eq!(ours.idle(&planned).count(), 1);
    let without = ours.with(planned);

    let again = without.with(without.prepare(&[listener(addr)], 1).unwrap());

    assert!(again.is_lent(&on(&again, addr).sockets[0]));
}

#[test]
fn sockets_of_ours_beside_one_that_was_lent_are_not_lent() {
    let lent = bind(any(), false).unwrap();
    lent.listen(1).unwrap();
    let lent = TcpListener::from(lent);
    let addr = lent.local_addr().unwrap();
    let none = Sockets::lent(vec![lent]);
    let ours = none.with(none.prepare(&[listener(addr)], 2).unwrap());
    let is_lent = on(&ours, addr).sockets.iter().map(|one| ours.is_lent(one));
    assert_eq!(is_lent.collect::<Vec<_>>(), [true, false]);
}
