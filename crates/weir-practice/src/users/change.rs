//! The transaction of a change: the items of a user before and after, and what a refusal means.

use weir_table::expr::{add, attr};
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::User;
use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::{PlanId, UserId};
use crate::item::{COUNT, Data, TYPE, VERSION, data, entity, list_entry};
use crate::keys::{self, List};
use crate::kinds::EntityType;
use crate::plans::same;
use crate::practice::Practice;

/// Whose condition a write has, so that a refusal can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Email,
    Google,
    Plan,
    Other,
}

/// The condition on a plan that a user moves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanCheck {
    /// The plan exists and is active.
    Active,
    /// It exists: a user from elsewhere keeps a plan that takes no new users.
    Exists,
}

/// The writes of a change.
#[derive(Debug, Default)]
pub(super) struct ChangeWrites(Vec<(Role, Write)>);

/// A user with the item it was read from.
#[derive(Debug, Clone)]
pub(super) struct StoredUser {
    pub(super) user: User,
    pub(super) item: Item,
}

impl StoredUser {
    /// Whether this service wrote the user. A user of the program of the source has no reservations and is in no counter.
    pub(super) fn is_counted(&self) -> bool {
        self.item.get(VERSION).is_some()
    }
}

impl ChangeWrites {
    fn push(&mut self, role: Role, write: Write) {
        self.0.push((role, write));
    }
}

impl<B: Backend> Practice<B> {
    /// The writes that turn `old` into `new`; `None` on one side for a creation or a deletion.
    pub(super) fn user_writes(
        &self,
        old: Option<&StoredUser>,
        new: Option<&User>,
        event: (AuditAction, &str),
        now_ms: i64,
    ) -> Result<ChangeWrites> {
        let mut writes = self.item_writes(old, new, PlanCheck::Active);
        let Some(id) = new.or(old.map(|old| &old.user)).map(|user| &user.id) else {
            return Ok(writes);
        };
        let (action, actor) = event;
        let subject = format!("user {id}");
        let event = NewAuditEvent { action, subject, actor, detail: None };
        writes.push(Role::Other, self.audit_write(event, now_ms)?);
        Ok(writes)
    }

    /// The writes that store a user from elsewhere. The import is audited as a whole.
    pub(super) fn import_writes(&self, old: Option<&StoredUser>, new: &User) -> ChangeWrites {
        let mut writes = self.item_writes(old, Some(new), PlanCheck::Exists);
        let is_moved = |old: &StoredUser| {
            old.is_counted() && old.user.plan == new.plan && old.user.created_s != new.created_s
        };
        if old.is_some_and(is_moved) {
            let entry = List::UsersOfPlan(new.plan).user(new.created_s, &new.id);
            let put = Write::put(self.table().clone(), list_entry(entry));
            writes.push(Role::Other, put);
        }
        writes
    }

    fn item_writes(
        &self,
        old: Option<&StoredUser>,
        new: Option<&User>,
        check: PlanCheck,
    ) -> ChangeWrites {
        let mut writes = ChangeWrites::default();
        self.push_user(&mut writes, old, new);
        self.push_email(&mut writes, old, new);
        self.push_google(&mut writes, old, new);
        self.push_plan(&mut writes, (old, new), check);
        writes
    }

    /// The user, or what stays of a deleted one: its id, which is never given to another user.
    fn push_user(&self, writes: &mut ChangeWrites, old: Option<&StoredUser>, new: Option<&User>) {
        let version = old.and_then(|old| old.item.i64(VERSION)).unwrap_or_default() + 1;
        let item = match (new, old) {
            (Some(user), old) => user.to_item(old.map(|old| &old.item), version),
            (None, Some(old)) => {
                let key = keys::user(&old.user.id);
                let tombstone = entity(key, EntityType::Erasure, Data::new(), old.user.created_s);
                tombstone.with(VERSION, version)
            }
            (None, None) => return,
        };
        let condition = match old {
            None => attr("PK").absent(),
            Some(old) => attr(TYPE).eq(EntityType::User.as_str()).and(same(&old.item, VERSION)),
        };
        writes.push(Role::User, Write::put(self.table().clone(), item).when(condition));
    }

    fn push_email(&self, writes: &mut ChangeWrites, old: Option<&StoredUser>, new: Option<&User>) {
        let before = old.filter(|old| old.is_counted()).map(|old| &old.user.email);
        let after = new.map(|new| &new.email);
        if before.map(|email| email.normalised()) == after.map(|email| email.normalised()) {
            return;
        }
        if let Some(before) = before {
            let release = Write::delete(self.table().clone(), keys::email(before));
            writes.push(Role::Other, release);
        }
        if let Some(user) = new {
            let mut write = self.reservation(keys::email(&user.email), user);
            if faults::is(Fault::EmailShared) {
                write.condition = None;
            }
            writes.push(Role::Email, write);
        }
    }

    fn push_google(&self, writes: &mut ChangeWrites, old: Option<&StoredUser>, new: Option<&User>) {
        let before = old.filter(|old| old.is_counted()).and_then(|old| old.user.google_id.as_ref());
        let after = new.and_then(|new| new.google_id.as_ref());
        if before != after {
            if let Some(before) = before {
                let release = Write::delete(self.table().clone(), keys::google_id(before));
                writes.push(Role::Other, release);
            }
            if let (Some(after), Some(user)) = (after, new) {
                writes.push(Role::Google, self.reservation(keys::google_id(after), user));
            }
        }
        let user_id = new.or(old.map(|old| &old.user)).map(|user| &user.id);
        match (new.and_then(User::to_google_login), before, user_id) {
            (Some(copy), ..) => writes.push(Role::Other, Write::put(self.table().clone(), copy)),
            (None, Some(_), Some(id)) => {
                let copy = Write::delete(self.table().clone(), keys::google_login(id));
                writes.push(Role::Other, copy);
            }
            _ => {}
        }
    }

    fn push_plan(
        &self,
        writes: &mut ChangeWrites,
        (old, new): (Option<&StoredUser>, Option<&User>),
        check: PlanCheck,
    ) {
        let table = self.table();
        let before = old.filter(|old| old.is_counted()).map(|old| old.user.plan);
        let after = new.map(|new| new.plan);
        if before == after {
            return;
        }
        if let Some(plan) = before {
            writes.push(Role::Other, self.count_users(plan, -1));
        }
        match (new, old) {
            (Some(user), old) => {
                let entry = List::UsersOfPlan(user.plan).user(user.created_s, &user.id);
                // A user of the source keeps its plan, whatever became of the plan.
                if old.is_none_or(|old| old.user.plan != user.plan) {
                    let exists = attr("PK").exists();
                    let is_open = match check {
                        PlanCheck::Active => exists.and(data("act").ne(false)),
                        PlanCheck::Exists => exists,
                    };
                    let check = Write::check(table.clone(), keys::plan(user.plan), is_open);
                    writes.push(Role::Plan, check);
                }
                writes.push(Role::Other, self.count_users(user.plan, 1));
                writes.push(Role::Other, Write::put(table.clone(), list_entry(entry)));
            }
            (None, Some(old)) => {
                let entry = List::UsersOfPlan(old.user.plan).user(0, &old.user.id);
                writes.push(Role::Other, Write::delete(table.clone(), entry.key));
            }
            (None, None) => {}
        }
    }

    fn count_users(&self, plan: PlanId, by: i64) -> Write {
        let update = add(COUNT, by).add(VERSION, 1).set(TYPE, EntityType::Counter.as_str());
        Write::update(self.table().clone(), keys::plan_users(plan), update)
    }

    fn reservation(&self, key: weir_table::Key, user: &User) -> Write {
        let owner = Data::new().with("uid", crate::item::id_value(user.id.as_str()));
        let item = entity(key, EntityType::Unique, owner, user.updated_s);
        Write::put(self.table().clone(), item).when(attr("PK").absent())
    }

    /// Does the writes, with more of the caller. False when another writer changed the user first.
    pub(super) async fn commit_user(
        &self,
        writes: ChangeWrites,
        more: Vec<Write>,
        plan: PlanId,
    ) -> Result<bool> {
        let (roles, writes): (Vec<Role>, Vec<Write>) = writes.0.into_iter().unzip();
        let writes = writes.into_iter().chain(more).collect();
        let Transacted::Refused(verdicts) = self.transact(writes).await? else { return Ok(true) };
        let is_failed = |verdict: &Verdict| matches!(verdict, Verdict::Failed(_));
        let failed: Vec<Role> = roles
            .into_iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| is_failed(verdict))
            .map(|(role, _)| role)
            .collect();
        if failed.contains(&Role::User) {
            return Ok(false);
        }
        Err(self.refusal(&failed, plan).await?)
    }

    async fn refusal(&self, failed: &[Role], plan: PlanId) -> Result<Error> {
        if failed.contains(&Role::Email) {
            return Ok(Error::conflict("email: another user has this email address"));
        }
        if failed.contains(&Role::Google) {
            return Ok(Error::conflict("google_id: another user has this Google id"));
        }
        if failed.contains(&Role::Plan) {
            self.plan(plan).await?;
            return Ok(Error::conflict(format!("plan_id: plan {plan} is inactive")));
        }
        Ok(Error::Contended)
    }

    /// A user with its item.
    pub(super) async fn stored_user(&self, id: &UserId) -> Result<StoredUser> {
        let item = self.item(keys::user(id)).await?.unwrap_or_default();
        let user = User::from_item(&item)?.ok_or_else(|| Error::not_found("user", id))?;
        Ok(StoredUser { user, item })
    }
}
