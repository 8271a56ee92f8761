import { DEFAULT_TRIAL_LIMITS, PLAN_NAMES } from '../domains/money/plans/index.ts'
import { contentSettings } from './content-settings.ts'
import { sellerSettings } from './seller-settings.ts'
import { trialLimits } from './trial-limits.ts'
import {
  address,
  email,
  flag,
  integer,
  list,
  oneOf,
  optional,
  password,
  port,
  reportDomains,
  secret,
  withDefault,
  type ReportDomain,
} from './setting-readers.ts'

/** Settings for operators: admin port, shutdown, retention, plans, log. */
export const operatorSettings = {
  REPORT_DOMAINS: {
    summary:
      'Further domains that lead to this server, which workspaces can choose for the links in mails with reports: comma-separated, each as domain, or as domain=workspaceId for one workspace',
    fallback: 'none (links have the domain of PUBLIC_URL)',
    parse: withDefault(reportDomains, [] as readonly ReportDomain[]),
  },
  ANALYTICS_SCHEDULE: {
    summary: 'Read the figures of accounts on a schedule. With 0 they are read only when users ask for it',
    fallback: '1',
    parse: withDefault(flag, true),
  },
  ADMIN_PORT: {
    summary: 'Port for metrics and administration, on ADMIN_HOST only. 0 picks a free port',
    fallback: '9090, or a free port if it is in use',
    parse: optional(port),
  },
  ADMIN_HOST: {
    summary: 'Address on which the admin port listens',
    fallback: '127.0.0.1',
    parse: withDefault(address, '127.0.0.1'),
  },
  ADMIN_TOKEN: {
    summary: 'Token for the admin port: a bearer token, or the password in HTTP Basic authentication',
    fallback: 'none (anyone who can reach ADMIN_HOST has access)',
    secret: true,
    parse: optional(secret),
  },
  ADMIN_NAMES: {
    summary:
      'Host names accepted by the admin port without a token, comma-separated. IP addresses and localhost always work',
    fallback: 'none',
    parse: withDefault(list, [] as string[]),
  },
  ADMIN_EMAIL: {
    summary: 'Email address of a verified platform administrator, created at start',
    fallback: 'none',
    parse: optional(email),
  },
  ADMIN_PASSWORD: {
    summary: 'Password of the administrator',
    fallback: 'none',
    secret: true,
    parse: optional(password),
  },
  DRAIN_SECONDS: {
    summary: 'Seconds to keep serving after SIGTERM while /api/ready returns 503, so that load balancers notice',
    fallback: '4 with several nodes, otherwise 0',
    parse: optional(integer(0, 600)),
  },
  DEFAULT_PLAN: {
    summary: `Plan of new users: ${PLAN_NAMES.join(', ')}, or unlimited to turn plan limits off`,
    fallback: 'free',
    parse: withDefault(oneOf(...PLAN_NAMES, 'unlimited'), 'free' as const),
  },
  TRIAL_LIMITS: {
    summary:
      'Limits of free trials, as name=value, comma-separated. The names are those of the limits of plans (GET /api/plans)',
    fallback: Object.entries(DEFAULT_TRIAL_LIMITS)
      .map(([name, value]) => `${name}=${value}`)
      .join(', '),
    parse: withDefault(trialLimits, DEFAULT_TRIAL_LIMITS),
  },
  ...sellerSettings,
  ...contentSettings,
  EVENT_DAYS: {
    summary: 'Days to keep workspace events. A client that was offline for longer reloads everything',
    fallback: '90',
    parse: withDefault(integer(1, 36_500), 90),
  },
  AUDIT_DAYS: {
    summary: 'Days to keep audit logs',
    fallback: '365',
    parse: withDefault(integer(1, 36_500), 365),
  },
  OUTBOX_DAYS: {
    summary: 'Days to keep mails in DATA_DIR/outbox, without SMTP_URL',
    fallback: '30',
    parse: withDefault(integer(1, 36_500), 30),
  },
  LOG_FORMAT: {
    summary: 'Log format: json, or pretty for people',
    fallback: 'pretty on a terminal, otherwise json',
    parse: optional(oneOf('json', 'pretty')),
  },
} as const
