//! The rules of `crds/`.

use super::objects::Objects;
use super::{Report, Severity, Subject};
use crate::dialect::Dialect;
use crate::load::Place;
use crate::view::View;

const DIRECTORY: &str = "crds/";

pub(super) fn check(subject: &Subject, dialect: &Dialect, report: &mut Report) {
    let error = |report: &mut Report, path: &str, verdict| report.rule(Severity::Error, path, verdict);
    match &subject.crds {
        Place::Missing => return,
        place => {
            if !error(report, DIRECTORY, place.is_directory()) {
                return;
            }
        }
    }
    let chart = match &subject.loaded {
        Ok(loaded) => &loaded.chart,
        Err(reason) => {
            error(report, DIRECTORY, Err(reason.to_string()));
            return;
        }
    };
    for crd in View::new(chart).crds() {
        let path = &crd.file.name;
        for object in Objects::new(&crd.file.data, dialect) {
            let object = match object {
                Ok(object) => object,
                Err(reason) => {
                    error(report, path, Err(format!("unable to parse YAML: {reason}")));
                    return;
                }
            };
            let Some(object) = object else { continue };
            if !object.api_version.starts_with("apiextensions.k8s.io") {
                error(report, path, Err("apiVersion is not in 'apiextensions.k8s.io'".to_owned()));
            }
            if object.kind != "CustomResourceDefinition" {
                error(report, path, Err("object kind is not 'CustomResourceDefinition'".to_owned()));
            }
        }
    }
}
