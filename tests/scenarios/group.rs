//! Who may use the Unix socket of a gateway with `--control-group`: only another user can tell, and only
//! root can be one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use gateway_tests::gateway::{Door, Plan, binary};
use gateway_tests::wait;

/// Nobody's user, and two groups that nobody has.
const USER: u32 = 65_534;
const GROUP: u32 = 54_321;
const OTHERS: u32 = 54_322;

const MINIMAL: &str = "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\n\
                       [sites.all]\nlistener = \"door\"\npool = \"nobody\"\n\
                       [pools.nobody]\nnodes = [\"127.0.0.1:1\"]\nprobe = { every = \"10s\" }\n";

struct House {
    door: Door,
    socket: PathBuf,
    program: PathBuf,
}

impl House {
    /// A gateway that also answers this group; `None` where nobody can be another user.
    fn admits() -> Option<Self> {
        if !nix::unistd::Uid::effective().is_root() {
            return None;
        }
        let plan = Plan::configured(MINIMAL).flag("--control-group", &GROUP.to_string());
        let (socket, program) = (plan.path("control.sock"), plan.path("gatewayd"));
        let at = format!("unix:{}", socket.display());
        let door = plan.flag("--control", &at).opens();
        // Where another user can reach it.
        fs::set_permissions(door.scratch().path(), Permissions::from_mode(0o755)).unwrap();
        fs::hard_link(binary(), &program)
            .or_else(|_| fs::copy(binary(), &program).map(|_| ()))
            .unwrap();
        wait::until("the socket", wait::SOON, || socket.exists());
        Some(House {
            door,
            socket,
            program,
        })
    }

    fn asks_as(&self, group: u32) -> Output {
        let mut command = Command::new(&self.program);
        let at = format!("unix:{}", self.socket.display());
        command.args(["status", "--control", &at]);
        command.current_dir("/").uid(USER).gid(group);
        command.output().unwrap()
    }
}

#[test]
fn a_user_of_the_group_is_answered() {
    let Some(house) = House::admits() else { return };
    let mode = fs::metadata(&house.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let said = house.asks_as(GROUP);
    assert!(said.status.success(), "{said:?}");
}

#[test]
fn a_user_of_no_such_group_is_kept_out_by_the_mode_and_refused_by_us_without_it() {
    let Some(house) = House::admits() else { return };
    assert_eq!(house.asks_as(OTHERS).status.code(), Some(2));
    assert!(house.door.log().saying("control: refused").is_empty());

    fs::set_permissions(&house.socket, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(house.asks_as(OTHERS).status.code(), Some(2));
    let said = house.door.log().waits_for("control: refused", |_| true);
    assert_eq!(said.text("why"), format!("user {USER} may not call"));
    assert!(house.asks_as(GROUP).status.success());
}
