//! The error type of a domain's handlers.

/// Declares the error that the handlers of a domain return, and their `Reply`. `$api_error` maps the domain's errors to
/// codes. Handlers do not return [`ApiError`](crate::ApiError) itself, so that `?` works on results of the domain.
#[macro_export]
macro_rules! domain_error {
    ($name:ident, $domain_error:ty, $api_error:path) => {
        /// An error of the domain on its way to the client.
        #[derive(Debug)]
        pub(crate) struct $name($crate::ApiError);

        /// The JSON response of a handler, or its error.
        pub(crate) type Reply<T> = Result<axum::Json<T>, $name>;

        impl From<$crate::ApiError> for $name {
            fn from(error: $crate::ApiError) -> $name {
                $name(error)
            }
        }

        impl From<$name> for $crate::ApiError {
            fn from(error: $name) -> $crate::ApiError {
                error.0
            }
        }

        impl From<weir_table::Error> for $name {
            fn from(error: weir_table::Error) -> $name {
                $name(error.into())
            }
        }

        impl From<$domain_error> for $name {
            fn from(error: $domain_error) -> $name {
                $name($api_error(error))
            }
        }

        impl axum::response::IntoResponse for $name {
            fn into_response(self) -> axum::response::Response {
                self.0.into_response()
            }
        }
    };
}
