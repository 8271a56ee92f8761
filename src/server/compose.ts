import type { Actors } from '../../actors/index.ts'
import { contextFactory, type ContextFactory } from '../core/context.ts'
import type { AnyJob } from '../core/job.ts'
import type { MainThread } from '../core/main-thread.ts'
import { walk, type NamedOperation, type Registry } from '../core/operation.ts'
import type { Authenticator, Channels, Memberships, Owners } from '../core/ports.ts'
import type { Services } from '../core/services.ts'
import type { SignedLinks } from '../core/signed-links.ts'
import { MemberTurnAuthorizer } from '../domains/workspace/workspaces/turn-authorizer.ts'
import type { IdempotencyKeys } from '../http/idempotency.ts'
import { QueueService } from '../jobs/queue-service.ts'
import type { JobService } from '../jobs/service.ts'
import { api } from '../registry/api.ts'
import { eventTypes } from '../registry/events.ts'
import { jobs as allJobs, serviceOfJob } from '../registry/jobs.ts'
import { notificationTypes } from '../registry/notifications.ts'
import { composeDomains } from '../registry/services.ts'
import { actorHealth } from '../turns/health.ts'
import type { TurnAuthorizer } from '../turns/turn-authorizer.ts'
import type { Turns } from '../turns/turn-runner.ts'
import { buildLayers, type NodeResources } from './foundation.ts'
import { queueBounds } from './media-work.ts'
import { personalData } from '../registry/personal.ts'

/** The composed service. */
export interface Composition {
  readonly operations: readonly NamedOperation[]
  readonly services: Services
  readonly context: ContextFactory
  readonly turns: Turns
  readonly actors: Actors
  readonly owners: Owners
  readonly authenticator: Authenticator
  readonly links: SignedLinks
  readonly memberships: Memberships
  readonly channels: Channels
  readonly turnAuthorizer: TurnAuthorizer
  readonly idempotency: IdempotencyKeys
  readonly jobs: JobService
  readonly thread: MainThread
  /** Resolves when turns can run. */
  readonly ready: Promise<void>
  /** Prepares the domains. Await it before the first request. */
  start(): Promise<void>
  /** Stops timers and waits for turns. The creator of the foundation closes the foundation. */
  close(): Promise<void>
}

/** The composition root: the layers, then the domains on top of them, in the order of their list. */
export function compose(
  resources: NodeResources,
  registry: Registry = api,
  declaredJobs: readonly AnyJob[] = allJobs,
): Composition {
  const { config } = resources
  const operations = walk(registry)
  const turnAuthorizer = new MemberTurnAuthorizer()
  const declared = { services: Object.keys(registry), eventTypes, notificationTypes, personal: personalData }
  const layers = buildLayers(resources, { ...declared, operations, jobs: declaredJobs, turnAuthorizer })
  const { actors, announcements, executor, foundation, idempotency, jobs, mediaWork, turns } = layers
  const domains = composeDomains(foundation, {
    turns,
    turnOutcomes: layers.turnOutcomes,
    jobs,
    queues: new QueueService({
      ...resources,
      declared: jobs.declared,
      serviceOf: serviceOfJob,
      bounds: queueBounds(config),
    }),
    idempotency,
    storage: foundation.storage,
    mailer: resources.mailer,
    mailLimits: foundation.mailLimits,
  })
  const { services } = domains
  const { auth, health, workspaces } = services
  const { memberships } = workspaces
  health.register('actors', () => actorHealth(actors))
  if (config.ROLES.has('jobs')) health.register('mediaWork', mediaWork.probe)
  const stopForgetting = memberships.onChange((workspaceId) => executor.forget(workspaceId))
  const { coordination, database, log } = resources
  database.onHistoryChange(() => {
    log.error({}, 'another PostgreSQL server has taken over: everything in memory is read again')
    executor.forget(undefined)
    coordination.readAgain()
  })
  const context = contextFactory(services)
  executor.serve(services, context)

  return {
    operations,
    services,
    context,
    actors,
    turns,
    owners: foundation.owners,
    idempotency,
    jobs,
    thread: layers.thread,
    ready: layers.ready,
    authenticator: auth.authenticator,
    links: foundation.links,
    memberships,
    channels: services.chat.memberships,
    turnAuthorizer,
    start: () => domains.start(),
    close: async () => {
      stopForgetting()
      await domains.close()
      await actors.close(5_000)
      await announcements.close()
      await mediaWork.close()
    },
  }
}
