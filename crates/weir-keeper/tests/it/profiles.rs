//! Inference profiles of an app.

use weir_keeper::Error;
use weir_keeper::config::PutApp;
use weir_keeper::ids::{Label, ModelId};
use weir_keeper::money::{Price, TokenUse};
use weir_keeper::prices::PriceRow;
use weir_keeper::profiles::PutProfile;
use weir_keeper::submit::Submission;
use weir_testkit::watched::Calls;

use crate::scene::{Scene, app, app_request, org, org_request};
use crate::spending::{day, submission};

scenes!(
    a_profile_is_registered_and_replaced,
    a_profile_is_a_label_of_its_app,
    a_recommended_profile_can_be_submitted,
    invalid_profiles_are_refused_by_field,
    profiles_are_cached,
);

const ARN: &str = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3";

fn request(label: &str) -> PutProfile {
    PutProfile {
        profile_label: label.into(),
        inference_profile_arn: ARN.into(),
        model_id: Some("amazon.nova-lite-v1:0".into()),
        description: "ours".into(),
    }
}

async fn two_apps(scene: &Scene) {
    scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    for name in ["a", "a2"] {
        scene.keeper.put_app(&org(1), &app(name), &app_request(), "admin").await.unwrap();
    }
}

async fn a_profile_is_registered_and_replaced(scene: &Scene) {
    two_apps(scene).await;
    let (keeper, id, a) = (&scene.keeper, org(1), app("a"));
    let (made, created) = keeper.put_profile(&id, &a, &request("ours"), "admin").await.unwrap();
    assert!(created);
    scene.clock.advance_ms(5_000);
    let same = keeper.put_profile(&id, &a, &request("ours"), "admin").await.unwrap();
    assert_eq!(same, (made.clone(), false));
    let other = PutProfile { description: "new".into(), ..request("ours") };
    let (changed, created) = keeper.put_profile(&id, &a, &other, "admin").await.unwrap();
    assert_eq!((changed.description.as_str(), created), ("new", false));
    assert_eq!(changed.created_at_epoch, made.created_at_epoch);
    assert_eq!(changed.updated_at_epoch, made.updated_at_epoch + 5);
    keeper.put_profile(&id, &a, &request("another"), "admin").await.unwrap();
    let first = keeper.list_profiles(&id, &a, 1, None).await.unwrap();
    assert_eq!(first.items[0].profile_label.as_str(), "another");
    assert_eq!(keeper.list_profiles(&id, &a, 1, first.cursor).await.unwrap().items, [changed]);
    assert!(keeper.list_profiles(&id, &app("a2"), 9, None).await.unwrap().items.is_empty());
}

async fn a_profile_is_a_label_of_its_app(scene: &Scene) {
    two_apps(scene).await;
    scene.keeper.put_profile(&org(1), &app("a"), &request("ours"), "admin").await.unwrap();
    let wanted = PutApp {
        model_ordering: Some(vec!["ours".into(), "economy".into()]),
        quotas: Some([("ours".into(), 5), ("economy".into(), 5)].into()),
        ..app_request()
    };
    scene.keeper.put_app(&org(1), &app("a"), &wanted, "admin").await.unwrap();
    let error = scene.keeper.put_app(&org(1), &app("a2"), &wanted, "admin").await.unwrap_err();
    assert!(matches!(error, Error::Label { .. }));
}

async fn a_recommended_profile_can_be_submitted(scene: &Scene) {
    two_apps(scene).await;
    let (keeper, id, a) = (&scene.keeper, org(1), app("a"));
    let chain = PutApp {
        model_ordering: Some(vec!["ours".into()]),
        quotas: Some([("ours".into(), 5_000_000)].into()),
        ..app_request()
    };
    let submit = async |arn: &str| {
        let submission = Submission {
            label: "ours".into(),
            model: ModelId::new(arn).unwrap(),
            tokens: TokenUse { input: 1_000_000, ..TokenUse::default() },
            region: Some("eu-west-1".into()),
            ..submission(scene)
        };
        let accepted = keeper.submit(&id, &a, &submission).await?;
        Ok::<_, Error>(accepted.processing.cost_usd_micros.0)
    };
    // A profile whose price nobody knows is not recommended.
    let unnamed = PutProfile { model_id: None, ..request("ours") };
    keeper.put_profile(&id, &a, &unnamed, "admin").await.unwrap();
    let error = keeper.put_app(&id, &a, &chain, "admin").await.unwrap_err();
    assert!(error.to_string().starts_with("model_ordering: no price is known for ours"), "{error}");
    // It has the price of the model that it names.
    keeper.put_profile(&id, &a, &request("ours"), "admin").await.unwrap();
    keeper.put_app(&id, &a, &chain, "admin").await.unwrap();
    let selected = keeper.select(&id, &a, true).await.unwrap().response;
    let recommended = selected.recommended_model.unwrap();
    assert_eq!(recommended.model_id.as_str(), ARN);
    assert_eq!(selected.pricing.unwrap().price.input, 60_000);
    assert_eq!(submit(recommended.model_id.as_str()).await.unwrap(), 60_000);
    // Or its own.
    let own = PriceRow {
        model_id: ModelId::new(ARN).unwrap(),
        vendor: None,
        region: None,
        price: Price::new(70_000, 1),
    };
    keeper.import_prices(vec![own], day("2037-01-23"), "admin").await.unwrap();
    assert_eq!(submit(ARN).await.unwrap(), 70_000);
    keeper.put_profile(&id, &a, &unnamed, "admin").await.unwrap();
    keeper.put_app(&id, &a, &chain, "admin").await.unwrap();
    assert_eq!(submit(ARN).await.unwrap(), 70_000);
}

async fn invalid_profiles_are_refused_by_field(scene: &Scene) {
    two_apps(scene).await;
    let (keeper, id, a) = (&scene.keeper, org(1), app("a"));
    let with = |arn: &str| PutProfile { inference_profile_arn: arn.into(), ..request("x") };
    for (wanted, field) in [
        (request("a#b"), "profile_label"),
        (request("premium"), "profile_label"),
        (with("amazon.nova-lite-v1:0"), "inference_profile_arn"),
        (with("arn:aws:s3:eu-west-1:1:inference-profile/x"), "inference_profile_arn"),
        (with("arn:aws:bedrock::1:inference-profile/x"), "inference_profile_arn"),
        (with("arn:aws:bedrock:eu-west-1:1:inference-profile/"), "inference_profile_arn"),
        (PutProfile { description: "\n".into(), ..request("x") }, "description"),
        (PutProfile { model_id: Some("a b".into()), ..request("x") }, "model_id"),
        (PutProfile { model_id: Some(ARN.into()), ..request("x") }, "model_id"),
    ] {
        let error = keeper.put_profile(&id, &a, &wanted, "admin").await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{error}");
    }
    let error = keeper.put_profile(&id, &app("b"), &request("x"), "admin").await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
    let error = keeper.list_profiles(&id, &app("b"), 1, None).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
}

async fn profiles_are_cached(scene: &Scene) {
    two_apps(scene).await;
    let (keeper, id, a) = (&scene.keeper, org(1), app("a"));
    let label = Label::new("ours").unwrap();
    assert_eq!(keeper.profile(&id, &a, &label).await.unwrap(), None);
    keeper.put_profile(&id, &a, &request("ours"), "admin").await.unwrap();
    scene.watch.reset();
    for _ in 0..3 {
        let found = keeper.profile(&id, &a, &label).await.unwrap().unwrap();
        assert_eq!(found.inference_profile_arn.as_str(), ARN);
    }
    assert_eq!(scene.watch.calls(), Calls { gets: 1, ..Calls::default() });
}
