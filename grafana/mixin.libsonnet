// The dashboards and rules as a monitoring mixin (https://monitoring.mixins.dev). rules.json is made of
// prometheus/rules by `npm run dashboards`.
local rules = import 'rules.json';

{
  _config+:: {
    // The page that has a section for each alert: where runbook_url leads to.
    runbooksUrl: rules.runbooksUrl,
  },

  local runbook(rule) =
    { annotations+: { runbook_url: $._config.runbooksUrl + '#' + std.asciiLower(rule.alert) } },

  grafanaDashboardFolder:: 'Library',
  grafanaDashboards+:: {
    'library-overview.json': import 'dashboards/library-overview.json',
    'library-customer.json': import 'dashboards/library-customer.json',
    'library-statistics.json': import 'dashboards/library-statistics.json',
    'library-now.json': import 'dashboards/library-now.json',
    'library-exporter.json': import 'dashboards/library-exporter.json',
  },
  prometheusAlerts+:: {
    groups+: [
      group { rules: [rule + runbook(rule) for rule in group.rules] }
      for group in rules.alerts
    ],
  },
  prometheusRules+:: { groups+: rules.recording },
}
