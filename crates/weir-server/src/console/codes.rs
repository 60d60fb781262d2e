//! The console's own error codes.

weir_framework::codes! {
    TOO_MANY_STREAMS = TOO_MANY_REQUESTS, "The caller has too many streams open",
        "Close a stream, or retry after the time in `Retry-After`.";
}
