//! Finds what an operator probably meant by a name that does not exist.

use strsim::osa_distance;

/// Farthest typing mistake that is still taken for one, in edits.
const NEAR: usize = 2;
/// Longest name of which one edit leaves too little, and of which two do.
const SHORT: [usize; 2] = [2, 5];
/// Longest list that is worth reading.
const LISTED: usize = 8;

/// What others call something that we do not have.
pub(crate) const INCLUDES: [&str; 4] = ["import", "imports", "include", "includes"];
/// What there is instead.
pub(crate) const NO_INCLUDES: &str =
    "there are no includes: name several files, or a folder of them, on the command line";

/// How many names may still be looked at in a run, so that many wrong names among many legal ones
/// do not take the time of all of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(usize);

/// Most names that are looked at in a run; the last search is finished.
const MOST: usize = 200_000;

impl Default for Budget {
    fn default() -> Self {
        Self(MOST)
    }
}

impl Budget {
    /// What may have been meant by a wrong name, and the help; neither once the budget is spent.
    pub(crate) fn search<'a>(
        &mut self,
        wrong: &str,
        legal: impl IntoIterator<Item = &'a str>,
    ) -> (Option<&'a str>, Option<String>) {
        if self.0 == 0 {
            return (None, None);
        }
        let all: Vec<&str> = legal.into_iter().collect();
        self.0 = self.0.saturating_sub(all.len());
        let near = closest(wrong, all.iter().copied());
        (near, said(near, all))
    }
}

/// The help for a name that is none of the legal ones: the closest, or all when they are few.
#[must_use]
pub(crate) fn help<'a>(wrong: &str, legal: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let all: Vec<&str> = legal.into_iter().collect();
    said(closest(wrong, all.iter().copied()), all)
}

fn said(near: Option<&str>, mut all: Vec<&str>) -> Option<String> {
    if let Some(near) = near {
        return Some(format!("did you mean `{near}`?"));
    }
    all.sort_unstable();
    all.dedup();
    match all.as_slice() {
        [] => None,
        [one] => Some(format!("there is only `{one}`")),
        some => {
            let shown: Vec<String> = some
                .iter()
                .take(LISTED)
                .map(|one| format!("`{one}`"))
                .collect();
            let rest = some.len() - shown.len();
            let more = if rest > 0 {
                format!(" and {rest} more")
            } else {
                String::new()
            };
            Some(format!("there are {}{more}", shown.join(", ")))
        }
    }
}

/// The legal name that a wrong one is closest to, if it is close at all.
#[must_use]
pub(crate) fn closest<'a>(
    wrong: &str,
    legal: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if wrong.len() > 64 {
        return None;
    }
    let far = |one: &str| one.len().abs_diff(wrong.len()) > 4 * NEAR;
    legal
        .into_iter()
        .filter(|one| !far(one))
        .map(|one| (osa_distance(wrong, one), one))
        .filter(|(distance, one)| *distance <= reach(wrong, one) || one.eq_ignore_ascii_case(wrong))
        .min()
        .map(|(_, one)| one)
}

/// How far apart two names may be that are taken for one.
fn reach(wrong: &str, legal: &str) -> usize {
    let longer = wrong.chars().count().max(legal.chars().count());
    NEAR - SHORT.iter().filter(|short| longer <= **short).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let legal = ["balance", "drain", "nodes"];
        assert_eq!(help("drian", legal).unwrap(), "did you mean `drain`?");
        assert_eq!(
            help("x", legal).unwrap(),
            "there are `balance`, `drain`, `nodes`"
        );
        assert_eq!(help("x", ["only"]).unwrap(), "there is only `only`");
        assert_eq!(help("x", []), None);
    }

    #[test]
    fn what_many_names_are_looked_up_in_is_not_looked_through_for_each() {
        let legal: Vec<String> = (0..1000).map(|at| format!("pool-{at}")).collect();
        let legal = || legal.iter().map(String::as_str);
        let mut budget = Budget::default();
        let mut helped = 0;
        while budget.search("pool-1000", legal()).1.is_some() {
            helped += 1;
            assert!(helped <= MOST / 1000);
        }
        assert_eq!(helped, MOST / 1000);
    }

    #[test]
    fn the_shorter_a_name_the_less_it_may_differ() {
        for (wrong, legal, is_near) in [
            ("a", "b", false),
            ("db", "dc", false),
            ("api", "web", false),
            ("api", "app", true),
            ("apx", "aqy", false),
            ("shopp", "shop", true),
            ("shxxp", "shoop", false),
            ("balnace", "balance", true),
            ("conections", "connection", true),
            ("TLS", "tls", true),
        ] {
            assert_eq!(
                closest(wrong, [legal]).is_some(),
                is_near,
                "{wrong} {legal}"
            );
        }
    }
}
