import { PLAN_NAMES } from '../domains/money/plans/index.ts'
import { integer, oneOf, optional, port, address, secret, withDefault, list } from './setting-readers.ts'

/** Settings for those who run Crier: the admin port, how a node stops, what is kept how long, plans, the log. */
export const operatorSettings = {
  ADMIN_PORT: {
    summary: 'Port of metrics and administration, on ADMIN_HOST only; 0 takes a free one',
    fallback: '9090, or a free one when taken',
    parse: optional(port),
  },
  ADMIN_HOST: { summary: 'Address of the admin port', fallback: '127.0.0.1', parse: withDefault(address, '127.0.0.1') },
  ADMIN_TOKEN: {
    summary: 'Credential of the admin port: as a bearer token, or as the password of HTTP Basic',
    fallback: 'none: anyone who can reach ADMIN_HOST may read',
    secret: true,
    parse: optional(secret),
  },
  ADMIN_NAMES: {
    summary: 'Host names of the admin port without a token, comma-separated; IP addresses and localhost always work',
    fallback: 'none',
    parse: withDefault(list, [] as string[]),
  },
  DRAIN_SECONDS: {
    summary: 'On SIGTERM: how long to go on serving while /api/ready says 503, until a load balancer has noticed',
    fallback: '4 among several nodes, else 0',
    parse: optional(integer(0, 600)),
  },
  DEFAULT_PLAN: {
    summary: `Plan of new users: ${PLAN_NAMES.join(', ')}; or unlimited, and no plan limits anybody`,
    fallback: 'free',
    parse: withDefault(oneOf(...PLAN_NAMES, 'unlimited'), 'free' as const),
  },
  EVENT_DAYS: {
    summary:
      'Days for which the events of workspaces are kept; a client that was away for longer reads everything again',
    fallback: '90',
    parse: withDefault(integer(1, 36_500), 90),
  },
  AUDIT_DAYS: {
    summary: 'Days for which the audit logs of workspaces are kept',
    fallback: '365',
    parse: withDefault(integer(1, 36_500), 365),
  },
  OUTBOX_DAYS: {
    summary: 'Days for which mails are kept in DATA_DIR/outbox, where there is no SMTP_URL',
    fallback: '30',
    parse: withDefault(integer(1, 36_500), 30),
  },
  LOG_FORMAT: {
    summary: 'json, or pretty for people',
    fallback: 'pretty on a terminal, else json',
    parse: optional(oneOf('json', 'pretty')),
  },
} as const
