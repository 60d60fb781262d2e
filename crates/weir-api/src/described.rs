//! Strings with a pattern, for the OpenAPI description. The domains check them.

use utoipa::openapi::Object;
use utoipa::openapi::schema::{ObjectBuilder, Type};

/// A text of 1 to `max` characters that has this pattern.
#[must_use]
pub fn text(pattern: &str, max: usize, example: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .min_length(Some(1))
        .max_length(Some(max))
        .examples([example])
        .build()
}

/// Declares how texts are described: the pattern, the length and an example of each.
#[macro_export]
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $pattern:literal, $max:literal, $example:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::described::text($pattern, $max, $example).into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }
        }
    )*};
}
