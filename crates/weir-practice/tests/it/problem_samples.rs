//! Problems, test cases, and what is stored of them.

use object_store::ObjectStore as _;
use object_store::path::Path;
use weir_practice::ids::{Platform, ProblemId, ProblemRef, Tag, UserId};
use weir_practice::problems::NewProblem;
use weir_practice::test_cases::NewTestCase;
use weir_table::{Item, Query};

use crate::scene::Scene;

pub(crate) fn at(id: &str) -> ProblemRef {
    let platform = Platform::new("baekjoon").unwrap();
    ProblemRef { platform, id: ProblemId::new(id).unwrap() }
}

pub(crate) fn tag(text: &str) -> Tag {
    Tag::new(text).unwrap()
}

pub(crate) fn user(id: &str) -> UserId {
    UserId::new(id).unwrap()
}

pub(crate) fn problem(id: &str) -> NewProblem {
    let mut new = NewProblem::new(at(id), "A+B");
    new.tags = vec![tag("math"), tag("implementation")];
    new.language = Some("python".to_owned());
    new.solution_code = Some("print(sum(map(int, input().split())))".to_owned());
    new.constraints = Some("0 < A, B < 10".to_owned());
    new.metadata = serde_json::json!({"difficulty": "bronze", "execution_count": 3});
    new
}

pub(crate) fn case(input: &str) -> NewTestCase {
    let input = input.to_owned();
    NewTestCase { output: format!("{input} out"), input, is_sample: false }
}

/// Text that does not compress below its size by much.
pub(crate) fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + u8::try_from(state % 75).unwrap())
    };
    (0..bytes).map(next).collect()
}

/// A problem with three MB of solution and test data.
pub(crate) fn large_problem(id: &str) -> NewProblem {
    let mut new = problem(id);
    new.solution_code = Some(noise(1024 * 1024, 1));
    new.constraints = Some(noise(300 * 1024, 2));
    let large = |seed| NewTestCase {
        input: noise(700 * 1024, seed),
        output: noise(100 * 1024, seed + 1),
        is_sample: seed == 3,
    };
    new.test_cases = vec![large(3), case("1 2"), large(5), case("3 4")];
    new
}

impl Scene {
    /// The keys of all items but audit events, sorted.
    pub(crate) async fn stored_keys(&self) -> Vec<String> {
        let items = self.all(Query::scan(self.practice.table().clone())).await;
        let key = |item: &Item| format!("{} | {}", item.s("PK").unwrap(), item.s("SK").unwrap());
        let mut keys: Vec<String> = items.iter().map(key).collect();
        keys.retain(|key| !key.starts_with("AUDIT") && !key.starts_with("PLAN"));
        keys.sort_unstable();
        keys
    }

    /// The names of all objects, sorted.
    pub(crate) async fn object_names(&self) -> Vec<String> {
        let (mut folders, mut found) = (vec![Path::default()], Vec::new());
        while let Some(folder) = folders.pop() {
            let listed = self.objects.list_with_delimiter(Some(&folder)).await.unwrap();
            folders.extend(listed.common_prefixes);
            found.extend(listed.objects.into_iter().map(|object| object.location.to_string()));
        }
        found.sort_unstable();
        found
    }

    /// Nothing is stored.
    pub(crate) async fn assert_empty(&self) {
        assert_eq!(self.stored_keys().await, Vec::<String>::new());
        assert_eq!(self.object_names().await, Vec::<String>::new());
    }
}
