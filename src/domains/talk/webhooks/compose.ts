import { SealedBox } from '../../../tools/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../fetch/target.ts'
import type { Foundation } from '../../../foundation.ts'
import { Attempts } from './attempts.ts'
import { Deliverer } from './deliverer.ts'
import { Deliveries } from './deliveries.ts'
import { Leases } from './leases.ts'
import { Records } from './records.ts'
import { Seats } from './seats.ts'
import { ServedEndpoints } from './served.ts'
import { WebhookService } from './service.ts'
import { Upcoming } from './upcoming.ts'
import { Wakes } from './wakes.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly webhooks: ReturnType<typeof composeWebhooks>['services']['webhooks']
  }
}

/** Builds the services of the domain. */
export function composeWebhooks(
  foundation: Foundation,
  { plans, switches, workspaces }: Pick<Services, 'plans' | 'switches' | 'workspaces'>,
) {
  const { clock, config, database, jobs, log, logs, secret } = foundation
  const rules = config.ALLOW_PRIVATE_ADDRESSES ? OPEN_RULES : {}
  const secrets = new SealedBox(secret, 'webhook secrets')
  // `Seats` and the jobs of the queues bound how many requests there are.
  const outgoing = new Outgoing(rules, Infinity)
  const isOn = () => switches.isOn('webhooks')
  const seats = new Seats(log)
  const served = new ServedEndpoints()
  const leases = new Leases(database, clock)
  const wakes = new Wakes(foundation, { served, isOn })
  const upcoming = new Upcoming(database, clock, logs, workspaces)
  const records = new Records(database, clock, jobs, leases.holder)
  const attempts = new Attempts(outgoing, clock, secrets)
  const deliverer = new Deliverer(foundation, {
    sql: database,
    leases,
    upcoming,
    records,
    attempts,
    wakes,
    seats,
    served,
    isOn,
  })
  wakes.starter.provide((ids) => deliverer.start(ids))
  const endRenewing = leases.renewing(
    () => served.ids,
    (error) => log.warn({ error }, 'leases of webhooks could not be extended'),
  )
  const webhooks = {
    service: new WebhookService(foundation, { plans, secrets, rules, wakes }),
    deliveries: new Deliveries(foundation, workspaces, upcoming),
    deliverer,
    wakes,
  }
  const close = async () => {
    await seats.close()
    endRenewing()
    await wakes.close()
    outgoing.close()
  }
  return { services: { webhooks }, close }
}
