//! Problems and test cases.

use weir_practice::problems::ProblemFilter;
use weir_practice::test_cases::TestCaseAccess;
use weir_table::dynamodb::Verb;
use weir_testkit::ledger::Ledger;

use super::month::Stored;
use super::{FIRST_PAGE, PAGE, table_bytes};
use crate::problem_samples::{at, case, noise, problem};
use crate::scene::Scene;
use crate::uploads::upload;

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>, stored: &mut Stored) {
    let (practice, one) = (&scene.practice, at("1000"));
    let before = table_bytes(scene).await;
    let mut new = problem("1000");
    new.solution_code = Some(noise(1_000, 1));
    new.test_cases = (0..5).map(|number| case(&noise(120, 10 + number))).collect();
    let name = "a new problem, 2 tags and 5 test cases";
    ledger.note(name, practice.create_problem(new, None, "admin")).await.unwrap();
    stored.problem = table_bytes(scene).await - before;
    ledger.note("a problem", practice.problem(&one)).await.unwrap();
    assert_eq!(ledger.row("a problem").calls(), [(Verb::Get, 1)]);
    let whole = practice.problem_with_test_cases(&one, TestCaseAccess::All);
    let whole = ledger.note("a problem with 5 test cases", whole).await.unwrap();
    assert_eq!(whole.test_cases.len(), 5);
    assert_eq!(ledger.row("a problem with 5 test cases").calls(), [(Verb::Query, 1)]);
    ledger.note("publication", practice.publish_problem(&one, "admin")).await.unwrap();
    let add = practice.add_test_case(&one, case("7 8"), "admin");
    ledger.note("another test case", add).await.unwrap();
    let bulk = practice.upload_test_cases(&one, upload(90), None, "admin");
    ledger.note("upload of 90 test cases", bulk).await.unwrap();
    for number in 1..PAGE {
        let new = problem(&number.to_string());
        practice.create_problem(new, None, "admin").await.unwrap();
    }
    let all = ProblemFilter::default();
    let list = practice.problems(&all, &FIRST_PAGE);
    let found = ledger.note("20 problems", list).await.unwrap();
    assert_eq!(found.items.len(), PAGE);
    let delete = practice.delete_problem(&one, None, "admin");
    ledger.note("soft deletion", delete).await.unwrap();
    let purge = practice.purge_problem(&one, "admin");
    ledger.note("hard deletion, with 96 test cases", purge).await.unwrap();
}
