// The dashboards and rules as a monitoring mixin (https://monitoring.mixins.dev). rules.json is made of
// prometheus/rules by `npm run dashboards`.
local rules = import 'rules.json';

{
  _config+:: {
    // With prometheus/rules/devices.yml, for customers with `breakdowns: [device]`.
    deviceRules: false,
    // Where the alerts' runbook_url and dashboard_url lead to.
    docsUrl: 'https://library-stats-exporter.example.org',
    grafanaUrl: 'https://grafana.example.org',
  },

  local config = self._config,
  local groups(main, ofKind) =
    rules[main] + if config.deviceRules then std.filter(ofKind, rules.devices) else [],
  local hasAlerts(group) = std.objectHas(group.rules[0], 'alert'),
  local linked(name, text) = std.strReplace(
    std.strReplace(text, 'https://library-stats-exporter.example.org', config.docsUrl),
    'https://grafana.example.org',
    config.grafanaUrl
  ),

  grafanaDashboardFolder:: 'Library',
  grafanaDashboards+:: {
    'library-overview.json': import 'dashboards/library-overview.json',
    'library-customer.json': import 'dashboards/library-customer.json',
    'library-patterns.json': import 'dashboards/library-patterns.json',
    'library-statistics.json': import 'dashboards/library-statistics.json',
    'library-now.json': import 'dashboards/library-now.json',
    'library-exporter.json': import 'dashboards/library-exporter.json',
  },
  prometheusAlerts+:: {
    groups+: [
      group {
        rules: [
          rule { annotations: std.mapWithKey(linked, rule.annotations) }
          for rule in group.rules
        ],
      }
      for group in groups('alerts', hasAlerts)
    ],
  },
  prometheusRules+:: {
    groups+: groups('recording', function(group) !hasAlerts(group)),
  },
}
