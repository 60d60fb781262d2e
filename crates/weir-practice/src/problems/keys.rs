//! Keys of problems that are being created or removed.

use weir_table::Key;

use crate::ids::{Platform, ProblemId, ProblemRef};

/// Partition of the notes on problems that are being created or removed.
pub(super) const UNFINISHED: &str = "PROBLEMS#UNFINISHED";

/// The note that a problem is being created or removed.
pub(super) fn unfinished(problem: &ProblemRef) -> Key {
    Key::new(UNFINISHED, format!("{}#{}", problem.platform, problem.id))
}

/// The problem of a note.
pub(super) fn parse_unfinished(sort: &str) -> Option<ProblemRef> {
    let (platform, id) = sort.split_once('#')?;
    Some(ProblemRef { platform: Platform::new(platform).ok()?, id: ProblemId::new(id).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_note_is_stable() {
        let problem = ProblemRef {
            platform: Platform::new("baekjoon").unwrap(),
            id: ProblemId::new("1000").unwrap(),
        };
        let key = unfinished(&problem);
        assert_eq!(key.to_string(), "PROBLEMS#UNFINISHED | baekjoon#1000");
        assert_eq!(parse_unfinished("baekjoon#1000"), Some(problem));
        assert_eq!(parse_unfinished("baekjoon"), None);
    }
}
