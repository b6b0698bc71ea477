//! A scatter chart on the page: its drawings, and what the script draws from.

use crate::chart::{self, Shape};
use crate::scatter::{Filter, Measure, Scatter, Spot};
use crate::style::Medium;
use crate::text::{data, escape, json, prose};

/// The chart as a figure: a drawing that the script replaces by one that readers steer.
pub(super) fn render(scatter: &Scatter) -> String {
    let chart = &scatter.chart;
    let draw = |shape| chart::render(chart, shape, Medium::Page);
    format!(
        "<figure class=\"scatter\" id=\"c-{id}\"><figcaption><h3>{title}</h3><p>{caption}</p></figcaption>\
         <div class=\"still\">{wide}{narrow}</div><script type=\"application/json\">{values}</script></figure>\n",
        id = chart.id,
        title = escape(&chart.title),
        caption = prose(&chart.caption),
        wide = draw(Shape::Wide),
        narrow = draw(Shape::Narrow),
        values = values(scatter),
    )
}

fn values(scatter: &Scatter) -> String {
    format!(
        "{{\"measures\":[{}],\"filters\":[{}],\"spots\":[{}],\"x\":{},\"y\":{},\"colour\":{}}}",
        list(&scatter.measures, measure),
        list(&scatter.filters, filter),
        list(&scatter.spots, spot),
        scatter.axes.0,
        scatter.axes.1,
        scatter.coloured,
    )
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}

fn measure(measure: &Measure) -> String {
    format!(
        "{{\"label\":{},\"unit\":{},\"higher\":{}}}",
        json(&measure.axis.label),
        json(&measure.axis.unit),
        measure.higher_is_better
    )
}

fn filter(filter: &Filter) -> String {
    let values = list(&filter.values, |value| json(value));
    format!("{{\"name\":{},\"values\":[{values}]}}", json(&filter.name))
}

fn spot(spot: &Spot) -> String {
    let categories = list(&spot.categories, ToString::to_string);
    let values = list(&spot.values, |value| match value {
        None => "null".to_owned(),
        Some(mean) => match mean.low().zip(mean.high()) {
            None => format!("[{}]", data(mean.mean)),
            Some((low, high)) => {
                format!("[{},{},{}]", data(mean.mean), data(low), data(high))
            }
        },
    });
    format!(
        "{{\"label\":{},\"categories\":[{categories}],\"values\":[{values}]}}",
        json(&spot.label)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_all_values_and_nothing_ends_it_early() {
        let html = render(&crate::scatter::tests::scatter());
        assert!(
            html.contains("{\"label\":\"a\",\"categories\":[0],\"values\":[[5,5,5],[20,20,20]]}"),
            "{html}"
        );
        assert!(
            html.contains("\"values\":[\"old\",\"\\u003cnew\\u003e\"]"),
            "{html}"
        );
        assert_eq!(html.matches("</script>").count(), 1);
    }
}
