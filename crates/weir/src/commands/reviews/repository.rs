//! A repository as people write it: `acme/shop`.

use std::str::FromStr;

/// A repository with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) owner: String,
    pub(super) repo: String,
}

impl FromStr for Repository {
    type Err = String;

    fn from_str(text: &str) -> Result<Repository, String> {
        match text.split_once('/') {
            Some((owner, repo)) if !owner.is_empty() && !repo.is_empty() && !repo.contains('/') => {
                Ok(Repository { owner: owner.to_owned(), repo: repo.to_owned() })
            }
            _ => Err("a repository is OWNER/REPO, for example acme/shop".to_owned()),
        }
    }
}

impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.repo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_an_owner_and_a_name() {
        let shop: Repository = "acme/shop".parse().unwrap();
        assert_eq!(shop.to_string(), "acme/shop");
        for wrong in ["", "acme", "acme/", "/shop", "a/b/c"] {
            assert!(wrong.parse::<Repository>().is_err(), "{wrong}");
        }
    }
}
