//! The names by which the price of a model is looked up.
//!
//! Bedrock identifies a model by its id (`amazon.nova-lite-v1:0`), by the id of a cross-region inference profile, which
//! is the model id with a prefix (`us.amazon.nova-lite-v1:0`), or by an ARN that ends in either. The id of an
//! application inference profile does not name its model, so such an ARN has no names.

/// Prefixes of the ids of cross-region inference profiles, before a dot.
pub const PROFILE_PREFIXES: [&str; 11] =
    ["apac", "au", "ca", "eu", "global", "in", "jp", "sa", "uk", "us", "us-gov"];

/// The names of a model, the most specific first, and the region of its ARN.
pub(super) fn names(model: &str) -> (Vec<&str>, Option<&str>) {
    let (id, region) = match model.strip_prefix("arn:") {
        Some(arn) => match of_arn(arn) {
            Some((id, region)) => (id, region),
            None => return (Vec::new(), None),
        },
        None => (model, None),
    };
    let bare = id.split_once('.').filter(|(prefix, _)| PROFILE_PREFIXES.contains(prefix));
    ([Some(id), bare.map(|(_, bare)| bare)].into_iter().flatten().collect(), region)
}

/// Parses the model id and region of `aws:bedrock:{region}:{account}:{kind}/{id}`.
fn of_arn(arn: &str) -> Option<(&str, Option<&str>)> {
    let mut parts = arn.splitn(5, ':').skip(1);
    let ("bedrock", region, _account) = (parts.next()?, parts.next()?, parts.next()?) else {
        return None;
    };
    let (kind, id) = parts.next()?.split_once('/')?;
    let is_named = matches!(kind, "inference-profile" | "foundation-model");
    is_named.then_some((id, Some(region).filter(|region| !region.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_come_from_id_profile_and_arn() {
        let nova = "amazon.nova-lite-v1:0";
        for (model, expected, region) in [
            (nova, vec![nova], None),
            ("us.amazon.nova-lite-v1:0", vec!["us.amazon.nova-lite-v1:0", nova], None),
            ("us-gov.amazon.nova-lite-v1:0", vec!["us-gov.amazon.nova-lite-v1:0", nova], None),
            (
                "arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0",
                vec![nova],
                Some("eu-west-1"),
            ),
            (
                "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.amazon.nova-lite-v1:0",
                vec!["us-gov.amazon.nova-lite-v1:0", nova],
                Some("us-gov-west-1"),
            ),
            ("arn:aws:bedrock:eu-west-1:1:application-inference-profile/a1b2c3", vec![], None),
            ("arn:aws:s3:eu-west-1:1:foundation-model/amazon.nova-lite-v1:0", vec![], None),
            ("arn:aws:bedrock", vec![], None),
        ] {
            assert_eq!(names(model), (expected, region), "{model}");
        }
    }
}
