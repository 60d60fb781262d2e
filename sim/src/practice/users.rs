//! Requests of users: sign-ups that race for names, changes, and what plans limit.

use weir_practice::ids::{Email, GoogleId, IdempotencyKey, UserId};
use weir_practice::kinds::Action;
use weir_practice::usage::UsageRequest;
use weir_practice::users::{NewUser, UserPatch};

use super::{Op, Outcome, Simulation};
use crate::check::Violation;
use crate::run::Simulated as _;

/// Names that users want: fewer than there are sign-ups.
const NAMES: [&str; 5] = ["ann", "ben", "cem", "dan", "eva"];
/// Requests with a key that clients remember.
const SENT_MAX: usize = 12;
/// Users after whom nobody else signs up.
const USERS_MAX: usize = 5;

impl Simulation {
    /// An email address, in any case.
    fn any_email(&mut self) -> Email {
        let name = *self.run.random.pick(&NAMES);
        let name = if self.run.random.percent(30) { name.to_uppercase() } else { name.to_owned() };
        Email::new(&format!("{name}@example.com")).expect("an address")
    }

    fn any_google_id(&mut self) -> Option<GoogleId> {
        let number = self.run.random.number(0..=6);
        (number < 3).then(|| GoogleId::new(format!("g{number}")).expect("an id"))
    }

    /// One of the users, and rarely one who does not exist.
    fn any_user(&mut self) -> UserId {
        let users: Vec<UserId> = self.model.users.keys().cloned().collect();
        if users.is_empty() || self.run.random.percent(2) {
            return UserId::new("nobody").expect("an id");
        }
        self.run.random.pick(&users).clone()
    }

    pub(super) async fn sign_up(&mut self, instance: usize) -> Result<(), Violation> {
        if self.model.users.len() >= USERS_MAX && self.run.random.percent(80) {
            return Ok(());
        }
        let id = UserId::new(format!("u{}", self.next_user)).expect("an id");
        self.next_user += 1;
        let new = NewUser {
            id: Some(id.clone()),
            google_id: self.any_google_id(),
            plan: Some(*self.run.random.pick(&self.plans)),
            is_staff: self.run.random.percent(5),
            ..NewUser::new(self.any_email(), "sim")
        };
        self.say_start(
            instance,
            format_args!("{id} signs up as {} {:?}", new.email.as_str(), new.google_id),
        );
        let practice = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Changed(practice.create_user(new, "sim").await.map(|_| ()))
        });
        self.start(instance, Op::SignUp { id }, work).await
    }

    pub(super) async fn change_user(&mut self, instance: usize) -> Result<(), Violation> {
        let user = self.any_user();
        let practice = self.instances[instance].clone();
        let plan = *self.run.random.pick(&self.plans);
        let (email, google_id) = (self.any_email(), self.any_google_id());
        let number = self.run.random.number(0..=9);
        self.say_start(instance, format_args!("change {number} of {user}, {plan}"));
        let work = Box::pin(async move {
            let done = match number {
                0..=3 => practice.move_user(&user, plan, "sim").await,
                4 | 5 => practice.deactivate_user(&user, "sim").await,
                6 | 7 => practice.reactivate_user(&user, "sim").await,
                8 => {
                    let patch = UserPatch { email: Some(email), ..UserPatch::default() };
                    practice.update_user(&user, &patch, "sim").await
                }
                _ => {
                    let patch = UserPatch { google_id: Some(google_id), ..UserPatch::default() };
                    practice.update_user(&user, &patch, "sim").await
                }
            };
            Outcome::Changed(done.map(|_| ()))
        });
        self.start(instance, Op::Change, work).await
    }

    /// A hint or an execution; with a key it may be sent again, hours later and by another instance.
    pub(super) async fn take(&mut self, instance: usize) -> Result<(), Violation> {
        let (mut user, mut request) = (self.any_user(), UsageRequest::new(Action::Hint));
        if self.run.random.percent(30) {
            request.action = Action::Execution;
        }
        let is_again = !self.sent.is_empty() && self.run.random.percent(30);
        if is_again {
            (user, request) = self.run.random.pick(&self.sent).clone();
        } else if self.run.random.percent(30) {
            let key = IdempotencyKey::new(format!("k{}", self.next_key)).expect("a key");
            request.idempotency_key = Some(key);
            self.next_key += 1;
            if self.sent.len() == SENT_MAX {
                self.sent.swap_remove(self.run.random.index(SENT_MAX));
            }
            self.sent.push((user.clone(), request.clone()));
        }
        self.say_start(
            instance,
            format_args!("{user} takes {} {:?}", request.action, request.idempotency_key),
        );
        let practice = self.instances[instance].clone();
        let op = Op::Use { user: user.clone(), request: request.clone(), counted: false };
        let work =
            Box::pin(async move { Outcome::Used(practice.take_usage(&user, &request).await) });
        self.start(instance, op, work).await
    }

    /// An administrator sets back a day that a clock far ahead has closed.
    pub(super) async fn reset_day(&mut self, instance: usize) -> Result<(), Violation> {
        let user = self.any_user();
        self.say_start(instance, format_args!("the latest day of {user} is reset"));
        let practice = self.instances[instance].clone();
        let work = Box::pin(async move {
            Outcome::Changed(practice.reset_latest_day(&user, "sim").await.map(|_| ()))
        });
        self.start(instance, Op::ResetDay, work).await
    }
}
