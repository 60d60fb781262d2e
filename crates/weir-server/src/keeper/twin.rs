//! Routes that an org and its apps have alike.

/// Declares the route of an org and that of an app, which differ in their path and summary and have one handler. The handler
/// takes the app, the [`TargetPath`](super::path::TargetPath) and the listed extractors.
macro_rules! twin_routes {
    ($(
        $method:ident($($param:ident),*) => $handler:ident($($arg:ident: $extract:ty),*) -> $reply:ty,
        described by ($($described:tt)*);
        $(#[$org_doc:meta])* $org:ident = $org_path:tt;
        $(#[$app_doc:meta])* $app:ident = $app_path:tt;
    )*) => {$(
        $(#[$org_doc])*
        #[utoipa::path($method, path = $org_path, params(OrgParam $(, $param)*), $($described)*)]
        pub(crate) async fn $org(
            state: axum::extract::State<weir_framework::app::App>,
            target: crate::keeper::path::TargetPath,
            $($arg: $extract),*
        ) -> $reply {
            $handler(state, target $(, $arg)*).await
        }

        $(#[$app_doc])*
        #[utoipa::path($method, path = $app_path, params(OrgParam, AppParam $(, $param)*), $($described)*)]
        pub(crate) async fn $app(
            state: axum::extract::State<weir_framework::app::App>,
            target: crate::keeper::path::TargetPath,
            $($arg: $extract),*
        ) -> $reply {
            $handler(state, target $(, $arg)*).await
        }
    )*};
}

pub(super) use twin_routes;
