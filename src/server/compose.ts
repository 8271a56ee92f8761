import type { Registry as MetricsRegistry } from 'prom-client'
import type { Actors } from '../../actors/index.ts'
import { api, systemTurns } from '../registry/api.ts'
import { composeAssets } from '../domains/media/assets/compose.ts'
import type { ApiKeyWorkspaces } from '../domains/identity/auth/api-keys/service.ts'
import { composeAuth, type AuthComposition } from '../domains/identity/auth/compose.ts'
import { composeChat, findAttachments } from '../domains/talk/chat/index.ts'
import type { Config } from '../config/config.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import { contextFactory, type ContextFactory } from '../core/context.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import type { Logger } from '../core/log.ts'
import { jobsByName, type AnyJob } from '../core/job.ts'
import { walk, type NamedOperation, type Registry } from '../core/operation.ts'
import type { Authenticator, Channels, Memberships } from '../core/ports.ts'
import { SealedBox } from '../core/sealed-box.ts'
import { SealedStream } from '../core/sealed-stream.ts'
import { SignedLinks } from '../core/signed-links.ts'
import type { Services } from '../core/services.ts'
import type { Database } from '../db/database.ts'
import { RowOwners } from '../db/owners.ts'
import { Searches } from '../db/searches.ts'
import { eventTypes } from '../registry/events.ts'
import { IdempotencyKeys } from '../http/idempotency.ts'
import { previewOpener, whepLink } from './media-preview.ts'
import { findPictures } from '../domains/identity/users/index.ts'
import { ProfilePictures } from '../domains/identity/users/pictures.ts'
import { checkFitness } from '../../media/work/transcode/fitness.ts'
import { iceLinks, whipAsker } from './media-whip.ts'
import { mediaWorkOf, queueBounds } from './media-work.ts'
import { HealthService } from '../domains/system/health/service.ts'
import { MailLimits } from '../mail/limits.ts'
import { PlanService } from '../domains/money/plans/service.ts'
import { jobs as allJobs } from '../registry/jobs.ts'
import { QueueService } from '../jobs/queue-service.ts'
import { JobService } from '../jobs/service.ts'
import type { StoreChoice } from '../jobs/stores.ts'
import type { DesiredStates } from '../domains/live/media-link/desired-state.ts'
import type { StreamNotices } from '../domains/live/media-link/notices.ts'
import { AuditLog, recordAudit } from '../domains/workspace/workspaces/audit-log.ts'
import { EventLog } from '../domains/workspace/workspaces/event-log.ts'
import { WorkspaceLogRetention } from '../domains/workspace/workspaces/log-retention.ts'
import { MemberReadmission } from '../domains/workspace/workspaces/readmission.ts'
import { MemberCache } from '../domains/workspace/workspaces/memberships.ts'
import { WorkspaceService } from '../domains/workspace/workspaces/service.ts'
import { ServiceSwitches } from '../domains/system/switches/service.ts'
import { composeStorage } from '../storage/compose.ts'
import { assetsInBroadcasts } from '../domains/live/playout/store.ts'
import { assetsInSlates } from '../domains/live/playout/slate.ts'
import { Recordings } from '../domains/live/recording/service.ts'
import { composeStreams } from '../domains/live/streams/compose.ts'
import { composeTeam } from '../domains/workspace/team/compose.ts'
import { Announcements } from '../turns/announcements.ts'
import { actorHealth } from '../turns/health.ts'
import { actorDriver } from '../turns/driver.ts'
import { TurnOutcomes } from '../turns/turn-outcomes.ts'
import { TurnExecutor } from '../turns/turn-executor.ts'
import type { Readmission } from '../turns/readmission.ts'
import { Turns } from '../turns/turn-runner.ts'

/** What everything else stands on; made by `main.ts`, or by a test. */
export interface Foundation {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly database: Database
  readonly coordination: Coordination
  readonly jobStore: StoreChoice
  readonly metrics: MetricsRegistry
  readonly version: string
  /** The installation's secret: from it every other key is derived. */
  readonly secret: string
  /** Folder for files of work that is under way; it was empty when the node started. */
  readonly scratch: string
}

/** The composed service. */
export interface Composition {
  readonly operations: readonly NamedOperation[]
  readonly services: Services
  readonly context: ContextFactory
  readonly turns: Turns
  readonly actors: Actors
  readonly owners: RowOwners
  readonly authenticator: Authenticator
  readonly links: SignedLinks
  readonly people: AuthComposition
  readonly memberships: Memberships
  readonly readmission: Readmission
  readonly channels: Channels
  /** What the media link of a node stands on. */
  readonly streaming: { readonly desiredStates: DesiredStates; readonly notices: StreamNotices }
  readonly idempotency: IdempotencyKeys
  readonly jobs: JobService
  /** Resolves when turns can be run. */
  readonly ready: Promise<void>
  /** Ends timers and waits for turns; the foundation is closed by whoever made it. */
  close(): Promise<void>
}

/** The composition root: plain constructors, in the order of their needs. */
export function compose(
  foundation: Foundation,
  registry: Registry = api,
  declaredJobs: readonly AnyJob[] = allJobs,
): Composition {
  const { clock, config, coordination, database, log, secret, version } = foundation
  const operations = walk(registry)
  const idempotency = new IdempotencyKeys(database, clock, new SealedBox(secret, 'idempotent replies'))

  const jobs = new JobService({
    database,
    clock,
    coordination,
    box: new SealedBox(secret, 'jobs'),
    declared: jobsByName(declaredJobs),
  })

  const turnOutcomes = new TurnOutcomes(database, clock, new SealedStream(secret, 'outcomes of turns'))
  const publish = (workspaceId: string, events: readonly WorkspaceEvent[]) =>
    coordination.publish(`ev:${workspaceId}`, events)
  const announcements = new Announcements({
    database,
    clock,
    log,
    shared: config.REDIS_URL !== undefined,
    forget: (workspaceId) => {
      memberships.changed(workspaceId)
      chat.people.changedIn(workspaceId)
    },
    publish,
    missed: (workspaceId) => coordination.publish(`missed:${workspaceId}`, {}),
  })
  const readmission = new MemberReadmission()
  const executor = new TurnExecutor({
    database,
    clock,
    log: log.child({ part: 'turns' }),
    operations: new Map(operations.map((op) => [op.name, op])),
    systemTurns: new Map(systemTurns.map((turn) => [turn.name, turn])),
    services: () => services,
    context: () => context,
    publish,
    announcements,
    jobs,
    keepReply: (turn, operation, claim, reply) => idempotency.keepWithTurn(turn, operation, claim, reply),
    readmission,
    ...(config.REDIS_URL !== undefined && { outcomes: turnOutcomes }),
  })
  const { actors, ready } = actorDriver({
    config,
    host: executor,
    clock,
    log: log.child({ part: 'actors' }),
    secret,
    onNodeLost: () => void announcements.recover(),
  })
  const turns = new Turns(actors, clock)
  const owners = new RowOwners(database)
  const health = new HealthService(clock, version)
  health.register('database', async () => void (await database.ping()))
  health.register(
    coordination.kind === 'redis' ? 'redis' : 'coordination',
    async () => void (await coordination.ping()),
  )
  health.register('actors', () => actorHealth(actors))
  const switches = new ServiceSwitches(Object.keys(registry), database, clock, coordination, log)

  const storage = composeStorage(config, clock)
  health.register('storage', () => storage.ping())

  const plans = new PlanService(database, clock, coordination, config.DEFAULT_PLAN)
  const mailLimits = new MailLimits(database, clock, secret, config.RATE_LIMITS)
  const memberships = new MemberCache(database, clock, coordination)
  const stopForgetting = memberships.onChange((workspaceId) => executor.forget(workspaceId))
  const workspaces = new WorkspaceService(database, clock, plans, memberships)
  const apiKeyWorkspaces: ApiKeyWorkspaces = {
    idsOf: async (sql, userId) => (await workspaces.ofUser(userId, sql)).map(({ id }) => id),
    recordAudit,
  }
  const people = composeAuth({ ...foundation, plans, jobs, mailLimits, workspaces: apiKeyWorkspaces })
  const searches = new Searches(database, config.DATABASE_POOL)
  const auditLog = new AuditLog(database, searches)
  const logDays = { events: config.EVENT_DAYS, audit: config.AUDIT_DAYS }
  const workspaceLogRetention = new WorkspaceLogRetention(database, clock, logDays)
  const chat = composeChat({ database, clock, coordination, plans, storage, searches, rateLimited: config.RATE_LIMITS })
  const channels: Channels = chat.people
  const eventLog = new EventLog(database, eventTypes, channels)

  const team = composeTeam({
    database,
    clock,
    plans,
    memberships,
    owners,
    publicUrl: config.PUBLIC_URL,
    mailLimits,
    searches,
    channelMembers: chat.services.channelMembers,
  })
  const mediaWork = mediaWorkOf(config, foundation.scratch, log.child({ part: 'media work' }), foundation.metrics)
  const links = new SignedLinks(secret, clock)
  if (config.ROLES.has('jobs')) health.register('mediaWork', mediaWork.probe)
  const media = composeAssets({
    database,
    clock,
    coordination,
    links,
    storage,
    plans,
    workspaces,
    memberships,
    turns,
    secret,
    publicUrl: config.PUBLIC_URL,
    allowPrivateAddresses: config.ALLOW_PRIVATE_ADDRESSES,
    mediaWork: mediaWork.get,
    searches,
    filesElsewhere: [findAttachments, findPictures],
    previewSeconds: config.MEDIA_PREVIEW_SECONDS,
    checkFitness,
    tempDir: foundation.scratch,
  })

  const streaming = composeStreams({
    database,
    clock,
    coordination,
    secret,
    plans,
    switches,
    memberships,
    workspaces,
    rtmpUrl: config.PUBLIC_RTMP_URL,
    publicUrl: config.PUBLIC_URL,
    openPreview: previewOpener(secret),
    whep: whepLink(secret),
    askWhip: whipAsker(secret),
    whipLinks: iceLinks(config.WHIP_ICE_SERVERS),
    renditions: media.renditions,
    allowPrivateAddresses: config.ALLOW_PRIVATE_ADDRESSES,
    log: log.child({ part: 'streams' }),
  })

  media.assetUses.register(assetsInBroadcasts)
  media.assetUses.register(assetsInSlates)

  const tempDir = foundation.scratch
  const profilePictures = new ProfilePictures({ database, clock, storage, mediaWork: mediaWork.get, tempDir })

  const services: Services = {
    turns,
    turnOutcomes,
    jobs,
    queues: new QueueService({ ...foundation, declared: jobs.declared, bounds: queueBounds(config) }),
    idempotency,
    health,
    switches,
    plans,
    storage,
    memberships,
    workspaces,
    auditLog,
    workspaceLogRetention,
    eventLog,
    mailLimits,
    ...people.services,
    profilePictures,
    ...team,
    ...chat.services,
    ...streaming.services,
    ...media,
    recordings: new Recordings(clock, media.assets),
  }
  const context = contextFactory(services)

  return {
    operations,
    services,
    context,
    actors,
    turns,
    owners,
    idempotency,
    jobs,
    ready,
    authenticator: people.authenticator,
    links,
    people,
    memberships,
    readmission,
    channels,
    streaming,
    close: async () => {
      switches.close()
      await people.close()
      plans.close()
      stopForgetting()
      memberships.close()
      streaming.close()
      await actors.close(5_000)
      await announcements.close()
      await mediaWork.close()
    },
  }
}
