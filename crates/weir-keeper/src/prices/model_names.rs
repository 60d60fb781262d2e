//! The names under which the price of a model can be listed.
//!
//! Bedrock identifies a model by its id (`amazon.nova-lite-v1:0`), by the id of a cross-region inference profile, which
//! is the model id with a prefix (`us.amazon.nova-lite-v1:0`), or by an ARN that ends in either. The id of an
//! application inference profile does not name its model, so such an ARN has a price of its own or none.

use compact_str::CompactString;

/// Prefixes of the ids of cross-region inference profiles, before a dot.
pub const PROFILE_PREFIXES: [&str; 11] =
    ["apac", "au", "ca", "eu", "global", "in", "jp", "sa", "uk", "us", "us-gov"];

/// The names of a model, the most specific first: its ARN, its id with the prefix of a profile, its bare id.
pub(super) fn names(model: &str) -> Vec<&str> {
    let arn = Arn::parse(model);
    let id = if model.starts_with(ARN_PREFIX) { arn.and_then(|arn| arn.id) } else { Some(model) };
    let bare = id.and_then(|id| id.split_once('.'));
    let bare = bare.filter(|(prefix, _)| PROFILE_PREFIXES.contains(prefix)).map(|(_, bare)| bare);
    let mut names = vec![model];
    names.extend(id.into_iter().chain(bare).filter(|name| *name != model));
    names
}

/// The keys under which the price of a model in a region can be listed, the most specific first: each name in the region
/// of the call, else in that of the ARN, then the name in all regions.
pub(super) fn keys<'a>(
    model: &'a str,
    region: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, Option<CompactString>)> {
    let region = region.or_else(|| Arn::parse(model)?.region).map(CompactString::from);
    names(model).into_iter().flat_map(move |name| {
        let local = region.clone().map(|region| (name, Some(region)));
        local.into_iter().chain([(name, None)])
    })
}

const ARN_PREFIX: &str = "arn:";

/// The parts of `arn:aws:bedrock:{region}:{account}:{kind}/{id}`.
#[derive(Clone, Copy)]
struct Arn<'a> {
    region: Option<&'a str>,
    /// The id of the model, where the ARN names it.
    id: Option<&'a str>,
}

impl Arn<'_> {
    fn parse(text: &str) -> Option<Arn<'_>> {
        let mut parts = text.strip_prefix(ARN_PREFIX)?.splitn(5, ':').skip(1);
        let ("bedrock", region, _account) = (parts.next()?, parts.next()?, parts.next()?) else {
            return None;
        };
        let (kind, id) = parts.next()?.split_once('/')?;
        let is_named = matches!(kind, "inference-profile" | "foundation-model");
        let region = Some(region).filter(|region| !region.is_empty());
        Some(Arn { region, id: is_named.then_some(id) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOVA: &str = "amazon.nova-lite-v1:0";

    #[test]
    fn model_names_come_from_id_profile_and_arn() {
        let foundation = "arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0";
        let system = "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.amazon.nova-lite-v1:0";
        let own = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/a1b2c3";
        let other = "arn:aws:s3:eu-west-1:1:foundation-model/amazon.nova-lite-v1:0";
        for (model, expected) in [
            (NOVA, vec![NOVA]),
            ("us.amazon.nova-lite-v1:0", vec!["us.amazon.nova-lite-v1:0", NOVA]),
            ("us-gov.amazon.nova-lite-v1:0", vec!["us-gov.amazon.nova-lite-v1:0", NOVA]),
            (foundation, vec![foundation, NOVA]),
            (system, vec![system, "us-gov.amazon.nova-lite-v1:0", NOVA]),
            (own, vec![own]),
            (other, vec![other]),
            ("arn:aws:bedrock", vec!["arn:aws:bedrock"]),
        ] {
            assert_eq!(names(model), expected, "{model}");
        }
    }

    #[test]
    fn keys_go_from_the_most_specific_to_the_least() {
        let arn = "arn:aws:bedrock:eu-west-1:1:inference-profile/us.amazon.nova-lite-v1:0";
        let us = "us.amazon.nova-lite-v1:0";
        let all = |region| keys(arn, region).collect::<Vec<_>>();
        let by = |region: &str| {
            let here = Some(CompactString::from(region));
            [arn, us, NOVA].into_iter().flat_map(move |name| [(name, here.clone()), (name, None)])
        };
        assert_eq!(all(None), by("eu-west-1").collect::<Vec<_>>());
        assert_eq!(all(Some("us-east-1")), by("us-east-1").collect::<Vec<_>>());
        assert_eq!(keys(NOVA, None).collect::<Vec<_>>(), [(NOVA, None)]);
    }
}
