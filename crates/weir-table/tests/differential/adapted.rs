//! Requests that dynoxide would take wrongly, changed so that it takes them as DynamoDB does.

use weir_table::expr::{Change, Term, Update};
use weir_table::request::Action;
use weir_table::{Item, Number, Value, Write};

use crate::program::Step;

/// [`NumberSetByText`](crate::exceptions::Exception::NumberSetByText): elements that would be written with an exponent
/// become the integers of their digits. `None` if there are none. Both sides get this step.
pub(crate) fn without_exponents(step: &Step) -> Option<Step> {
    let mut step = step.clone();
    let mut is_changed = false;
    for write in writes(&mut step) {
        let Action::Update(_, update) = &mut write.action else { continue };
        for change in &mut update.changes {
            let (Change::Add(_, Value::Ns(elements)) | Change::Delete(_, Value::Ns(elements))) =
                change
            else {
                continue;
            };
            if elements.iter().any(has_exponent) {
                is_changed = true;
                *elements = elements.iter().map(digits_of).collect();
            }
        }
    }
    is_changed.then_some(step)
}

fn has_exponent(number: &Number) -> bool {
    number.to_string().contains('E')
}

fn digits_of(number: &Number) -> Number {
    if has_exponent(number) {
        Number::new(number.mantissa(), 0).unwrap_or_default()
    } else {
        *number
    }
}

/// The writes of a step.
pub(crate) fn writes(step: &mut Step) -> &mut [Write] {
    match step {
        Step::Write(write) => std::slice::from_mut(write),
        Step::Transact(transaction) => &mut transaction.writes,
        _ => &mut [],
    }
}

/// [`LazyFallback`](crate::exceptions::Exception::LazyFallback): the update that sets the default itself, where a default
/// is a path that `item` does not have. `None` if there is no such default.
pub(crate) fn with_eager_fallback(update: &Update, item: &Item) -> Option<Update> {
    let mut eager = update.clone();
    for change in &mut eager.changes {
        if let Change::Set(_, term) = change {
            *term = eager_term(term, item);
        }
    }
    (eager != *update).then_some(eager)
}

fn eager_term(term: &Term, item: &Item) -> Term {
    let both = |left: &Term, right: &Term| {
        (Box::new(eager_term(left, item)), Box::new(eager_term(right, item)))
    };
    match term {
        Term::Value(_) | Term::Path(_) => term.clone(),
        Term::PathOr(path, default) => match eager_term(default, item) {
            Term::Path(missing) if missing.find(item).is_none() => Term::Path(missing),
            default => Term::PathOr(path.clone(), Box::new(default)),
        },
        Term::Plus(left, right) => {
            let (left, right) = both(left, right);
            Term::Plus(left, right)
        }
        Term::Minus(left, right) => {
            let (left, right) = both(left, right);
            Term::Minus(left, right)
        }
        Term::Append(left, right) => {
            let (left, right) = both(left, right);
            Term::Append(left, right)
        }
    }
}

#[test]
fn only_a_missing_default_is_set_itself() {
    let item = Item::new().with("n", 1);
    let update = |default: &str| {
        let term = Term::path_or("n", Term::path(default));
        weir_table::expr::set("s", Term::path_or("n", term))
    };
    let eager = with_eager_fallback(&update("gone"), &item);
    assert_eq!(eager, Some(weir_table::expr::set("s", Term::path("gone"))));
    assert_eq!(with_eager_fallback(&update("n"), &item), None);
}
