import { SealedBox } from '../../../core/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../fetch/target.ts'
import type { Foundation } from '../../../foundation.ts'
import { Attempts } from './attempts.ts'
import { Deliverer } from './deliverer.ts'
import { Deliveries } from './deliveries.ts'
import { Leases } from './leases.ts'
import { Patience } from './patience.ts'
import { Records } from './records.ts'
import { WebhookService } from './service.ts'
import { Upcoming } from './upcoming.ts'
import { Wakes } from './wakes.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly webhooks: ReturnType<typeof composeWebhooks>['services']['webhooks']
  }
}

/** Builds the services of the domain. */
export function composeWebhooks(foundation: Foundation, { plans, workspaces }: Pick<Services, 'plans' | 'workspaces'>) {
  const { clock, config, database, jobs, log, logs, secret } = foundation
  const rules = config.ALLOW_PRIVATE_ADDRESSES ? OPEN_RULES : {}
  const secrets = new SealedBox(secret, 'webhook secrets')
  // The jobs of the queues and `Patience` bound how many requests there are.
  const outgoing = new Outgoing(rules, Infinity)
  const patience = new Patience(log)
  const wakes = new Wakes(foundation)
  const upcoming = new Upcoming(database, clock, logs, workspaces)
  const webhooks = {
    service: new WebhookService(foundation, { plans, secrets, rules, wakes }),
    deliveries: new Deliveries(foundation, workspaces, upcoming),
    deliverer: new Deliverer(foundation, {
      sql: database,
      leases: new Leases(database, clock),
      upcoming,
      records: new Records(database, clock, jobs),
      attempts: new Attempts(outgoing, clock, secrets),
      wakes,
      patience,
    }),
    wakes,
  }
  const close = async () => {
    await patience.close()
    await wakes.close()
    outgoing.close()
  }
  return { services: { webhooks }, close }
}
