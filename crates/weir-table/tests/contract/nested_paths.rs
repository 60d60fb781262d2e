//! Paths into maps and lists: in updates, conditions and projections.

use weir_table::expr::{
    Operand, Path, Term, add, attr, delete_from, remove, set, set_if_absent, size,
};
use weir_table::{Get, Item, Value};

use crate::fixture::{Fixture, key, row};

contract! {
    a_field_is_set_and_its_siblings_stay,
    a_field_of_a_map_in_a_list_is_set,
    a_field_is_added_to,
    a_missing_field_is_added_from_zero,
    a_field_is_removed,
    a_set_in_a_map_changes_by_element,
    a_field_is_set_if_absent,
    a_field_is_computed_from_another,
    a_list_in_a_map_is_appended_to,
    conditions_reach_into_maps_and_lists,
    a_path_into_another_kind_finds_nothing,
    field_names_may_have_dots_and_spaces,
    a_deep_path_is_read_and_written,
    a_projection_keeps_the_shape_of_maps,
    a_projection_of_elements_closes_the_gaps,
    a_projection_joins_paths_of_one_attribute,
    a_projection_of_a_path_into_nothing_is_left_out,
}

fn profile() -> Item {
    let city = Value::map([("name", Value::from("Ulm")), ("zip", 89073.into())]);
    let stops = Value::list([Value::map([("n", 1)]), Value::map([("n", 2)])]);
    row("a", "1").with("m", Value::map([("city", city), ("stops", stops), ("visits", 3.into())]))
}

fn city(field: &str) -> Path {
    Path::new("m").field("city").field(field)
}

async fn a_field_is_set_and_its_siblings_stay(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let update = set(city("name"), "Bern").set(city("country"), "CH");
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(city("name").find(&new), Some(&"Bern".into()));
    assert_eq!(city("country").find(&new), Some(&"CH".into()));
    assert_eq!(city("zip").find(&new), Some(&89073.into()));
    assert_eq!(Path::new("m").field("visits").find(&new), Some(&3.into()));
}

async fn a_field_of_a_map_in_a_list_is_set(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let path = Path::new("m").field("stops").element(1).field("n");
    let new = items.update(key("a", "1"), set(path, 20)).await;
    let stops = Value::list([Value::map([("n", 1)]), Value::map([("n", 20)])]);
    assert_eq!(Path::new("m").field("stops").find(&new), Some(&stops));
}

async fn a_field_is_added_to(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let visits = Path::new("m").field("visits");
    let new = items.update(key("a", "1"), add(visits.clone(), 4)).await;
    assert_eq!(visits.find(&new), Some(&7.into()));
}

async fn a_missing_field_is_added_from_zero(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let calls = Path::new("m").field("calls");
    let new = items.update(key("a", "1"), add(calls.clone(), 4)).await;
    assert_eq!(calls.find(&new), Some(&4.into()));
}

async fn a_field_is_removed(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let update = remove(city("zip")).remove(city("gone"));
    let new = items.update(key("a", "1"), update).await;
    let left = Value::map([("name", "Ulm")]);
    assert_eq!(Path::new("m").field("city").find(&new), Some(&left));
}

async fn a_set_in_a_map_changes_by_element(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("m", Value::map([("tags", Value::strings(["x"]))]))).await;
    let tags = Path::new("m").field("tags");
    let new = items.update(key("a", "1"), add(tags.clone(), Value::strings(["y"]))).await;
    assert_eq!(tags.find(&new), Some(&Value::strings(["x", "y"])));
    let new = items.update(key("a", "1"), delete_from(tags, Value::strings(["x", "y"]))).await;
    assert_eq!(new.get("m"), Some(&Value::M([].into())));
}

async fn a_field_is_set_if_absent(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let update = set_if_absent(city("zip"), 1).set_if_absent(city("mayor"), "nobody");
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(city("zip").find(&new), Some(&89073.into()));
    assert_eq!(city("mayor").find(&new), Some(&"nobody".into()));
}

async fn a_field_is_computed_from_another(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let visits = Path::new("m").field("visits");
    let update = set(city("zip"), Term::path(city("zip")).plus(Term::path(visits)));
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(city("zip").find(&new), Some(&89076.into()));
}

async fn a_list_in_a_map_is_appended_to(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let stops = Path::new("m").field("stops");
    let update = set(stops.clone(), Term::path(stops.clone()).append(Value::list([3])));
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(stops.element(2).find(&new), Some(&3.into()));
}

async fn conditions_reach_into_maps_and_lists(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    let m = || attr("m");
    assert!(holds(m().field("city").field("name").begins_with("U")).await);
    assert!(holds(m().field("stops").element(1).field("n").eq(2)).await);
    assert!(holds(m().field("stops").element(2).absent()).await);
    assert!(holds(m().field("stops").contains(Value::map([("n", 2)]))).await);
    assert!(holds(size(Path::new("m").field("stops")).eq(2)).await);
    assert!(holds(Operand::from(city("zip")).between(89000, 89999)).await);
}

async fn a_path_into_another_kind_finds_nothing(t: &Fixture) {
    let items = t.items().await;
    items.put(profile()).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("m").element(0).absent()).await);
    assert!(holds(attr("m").field("visits").field("x").absent()).await);
    assert!(!holds(attr("m").field("stops").field("n").eq(1)).await);
}

async fn field_names_may_have_dots_and_spaces(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("m", Value::map([("a.b c", 1)]))).await;
    let path = Path::new("m").field("a.b c");
    let new = items.update(key("a", "1"), add(path.clone(), 1)).await;
    assert_eq!(path.find(&new), Some(&2.into()));
    assert!(items.holds(key("a", "1"), Operand::from(path).eq(2)).await);
}

async fn a_deep_path_is_read_and_written(t: &Fixture) {
    let items = t.items().await;
    let value = (0..20).fold(Value::from("core"), |inner, _| Value::map([("d", inner)]));
    items.put(row("a", "1").with("m", value)).await;
    let path = (0..20).fold(Path::new("m"), |path, _| path.field("d"));
    assert!(items.holds(key("a", "1"), Operand::from(path.clone()).eq("core")).await);
    let new = items.update(key("a", "1"), set(path.clone(), "changed")).await;
    assert_eq!(path.find(&new), Some(&"changed".into()));
}

async fn projected(t: &Fixture, item: Item, paths: &[Path]) -> Item {
    let items = t.items().await;
    items.put(item).await;
    let got = t.store.get(&Get::new("items", key("a", "1")).project(paths.to_vec())).await;
    let got = got.unwrap().unwrap();
    let queried = items.all(&items.partition("a").project(paths.to_vec())).await;
    assert_eq!(queried, std::slice::from_ref(&got));
    got
}

async fn a_projection_keeps_the_shape_of_maps(t: &Fixture) {
    let got = projected(t, profile(), &[city("name"), Path::new("sk")]).await;
    let expected = Value::map([("city", Value::map([("name", "Ulm")]))]);
    assert_eq!(got, Item::new().with("sk", "1").with("m", expected));
}

async fn a_projection_of_elements_closes_the_gaps(t: &Fixture) {
    let item = row("a", "1").with("l", Value::list([10, 11, 12, 13]));
    let paths = [Path::new("l").element(3), Path::new("l").element(1), Path::new("l").element(9)];
    let got = projected(t, item, &paths).await;
    assert_eq!(got, Item::new().with("l", Value::list([11, 13])));
}

async fn a_projection_joins_paths_of_one_attribute(t: &Fixture) {
    let stop = Path::new("m").field("stops").element(1).field("n");
    let got = projected(t, profile(), &[city("zip"), stop]).await;
    let expected = Value::map([
        ("city", Value::map([("zip", 89073)])),
        ("stops", Value::list([Value::map([("n", 2)])])),
    ]);
    assert_eq!(got, Item::new().with("m", expected));
}

async fn a_projection_of_a_path_into_nothing_is_left_out(t: &Fixture) {
    let paths = [city("gone"), Path::new("m").field("visits").field("x"), Path::new("pk")];
    let got = projected(t, profile(), &paths).await;
    assert_eq!(got, Item::new().with("pk", "a"));
}
