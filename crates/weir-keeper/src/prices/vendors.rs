//! Which vendor's price applies to a model. Pure.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::ids::{ModelId, Vendor};

/// Vendors that have a price for a model; `None` is Bedrock.
pub(super) type Vendors = BTreeSet<Option<Vendor>>;

/// The vendor of a model, as prices are listed: the given one; else that of the label, if it has a price; else Bedrock, if
/// it has one; else the only one that has.
///
/// # Errors
/// Several vendors have a price, and none of them was named: returns all of them.
pub(super) fn choose_vendor(
    given: Option<&Vendor>,
    of_label: Option<&Vendor>,
    priced: &Vendors,
) -> Result<Option<Vendor>, Vendors> {
    if let Some(given) = given {
        return Ok(given.clone().listed());
    }
    let of_label = of_label.map(|vendor| vendor.clone().listed());
    if let Some(vendor) = of_label.clone().filter(|vendor| priced.contains(vendor)) {
        return Ok(vendor);
    }
    let mut all = priced.iter();
    match (all.next(), all.next()) {
        // Bedrock is the first, if it is there.
        (None, _) => Ok(of_label.flatten()),
        (Some(None), _) => Ok(None),
        (Some(only), None) => Ok(only.clone()),
        (Some(_), Some(_)) => Err(priced.clone()),
    }
}

/// The error for a model that several vendors have a price for.
pub(super) fn ambiguous(field: &str, model: &ModelId, vendors: &Vendors) -> Error {
    let all: Vec<&str> = vendors.iter().flatten().map(Vendor::as_str).collect();
    let problem = format!("{model} has prices of several vendors; name one of {}", all.join(", "));
    Error::invalid(field, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vendor(text: &str) -> Vendor {
        Vendor::new(text).unwrap()
    }

    #[test]
    fn a_model_of_several_vendors_needs_one() {
        let (azure, openai, bedrock) = (vendor("azure"), vendor("openai"), vendor("bedrock"));
        let both = Vendors::from([Some(azure.clone()), Some(openai.clone())]);
        let one = Vendors::from([Some(azure.clone())]);
        let with_bedrock = Vendors::from([None, Some(azure.clone())]);
        for (given, of_label, priced, expected) in [
            (Some(&openai), Some(&azure), &both, Ok(Some(openai.clone()))),
            (Some(&openai), None, &one, Ok(Some(openai.clone()))),
            (Some(&bedrock), None, &both, Ok(None)),
            (None, Some(&openai), &both, Ok(Some(openai.clone()))),
            (None, Some(&openai), &one, Ok(Some(azure.clone()))),
            (None, Some(&openai), &Vendors::new(), Ok(Some(openai.clone()))),
            (None, None, &one, Ok(Some(azure.clone()))),
            (None, None, &with_bedrock, Ok(None)),
            (None, None, &Vendors::new(), Ok(None)),
            (None, None, &both, Err(both.clone())),
        ] {
            assert_eq!(choose_vendor(given, of_label, priced), expected, "{given:?} {of_label:?}");
        }
        let error = ambiguous("vendor", &ModelId::new("gpt-5").unwrap(), &both).to_string();
        assert_eq!(error, "vendor: gpt-5 has prices of several vendors; name one of azure, openai");
    }
}
