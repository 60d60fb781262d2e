//! The result of one run of a case, and of all its rounds.

/// The result of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Responses received.
    pub(crate) requests: u64,
    /// Responses with status 429.
    pub(crate) refused: u64,
    /// Responses per second.
    pub(crate) rate: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// CPU time of the server per request, in user and kernel mode.
    pub(crate) cpu_micros: f64,
}

impl Sample {
    /// The same result counted in operations, of which each request contained `count`.
    pub(crate) fn per_operation(self, count: u64) -> Sample {
        Sample {
            requests: self.requests * count,
            refused: self.refused * count,
            rate: self.rate * count as f64,
            cpu_micros: self.cpu_micros / count as f64,
            ..self
        }
    }
}

/// The results of all rounds of a case, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(pub(crate) Vec<Sample>);

/// A ratio of CPU time per request, over all rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    median: f64,
    least: f64,
    largest: f64,
}

impl Ratio {
    pub(crate) fn median_text(self) -> String {
        format!("{:.3}", self.median)
    }

    pub(crate) fn range_text(self) -> String {
        format!("{:.3}–{:.3}", self.least, self.largest)
    }
}

impl Series {
    /// The median of a figure over all rounds.
    pub(crate) fn median(&self, figure: fn(&Sample) -> f64) -> f64 {
        median(self.0.iter().map(figure).collect()).unwrap_or(f64::NAN)
    }

    /// CPU time per request as a multiple of the baseline's in the same round.
    pub(crate) fn cpu_ratio(&self, baseline: &Series) -> Option<Ratio> {
        let rounds = self.0.iter().zip(&baseline.0);
        let ratios = rounds.map(|(sample, baseline)| sample.cpu_micros / baseline.cpu_micros);
        Some(Ratio {
            median: median(ratios.clone().collect())?,
            least: ratios.clone().reduce(f64::min)?,
            largest: ratios.reduce(f64::max)?,
        })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(cpu_micros: &[f64]) -> Series {
        let sample = |cpu_micros: &f64| Sample {
            requests: 1,
            refused: 0,
            rate: 1.0,
            p50_ms: 1.0,
            p99_ms: 1.0,
            cpu_micros: *cpu_micros,
        };
        Series(cpu_micros.iter().map(sample).collect())
    }

    #[test]
    fn divides_each_round_by_the_baseline_of_the_same_round() {
        let ratio = series(&[10.0, 30.0, 8.0]).cpu_ratio(&series(&[10.0, 20.0, 10.0]));
        assert_eq!(ratio, Some(Ratio { median: 1.0, least: 0.8, largest: 1.5 }));
    }

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(series(&[4.0, 1.0, 2.0, 9.0]).median(|sample| sample.cpu_micros), 3.0);
    }

    #[test]
    fn a_series_without_rounds_has_no_ratio() {
        assert_eq!(series(&[]).cpu_ratio(&series(&[])), None);
    }
}
