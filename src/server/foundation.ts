import type { Registry as MetricsRegistry } from 'prom-client'
import type { Actors } from '../../actors/index.ts'
import { checkFitness } from '../../media/work/transcode/fitness.ts'
import type { Config } from '../config/config.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import type { WorkspaceEvent } from '../core/event.ts'
import { jobsByName, type AnyJob } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { MainThread } from '../core/main-thread.ts'
import type { NamedOperation } from '../core/operation.ts'
import { SealedBox } from '../tools/sealed-box.ts'
import { SealedStream } from '../tools/sealed-stream.ts'
import { SignedLinks } from '../core/signed-links.ts'
import type { Database } from '../db/database.ts'
import { RowOwners } from '../db/owners.ts'
import { Searches } from '../db/searches.ts'
import type { Declared, Foundation } from '../foundation.ts'
import { IdempotencyKeys } from '../http/idempotency.ts'
import { JobService } from '../jobs/service.ts'
import type { StoreChoice } from '../jobs/stores.ts'
import { MailLimits } from '../mail/limits.ts'
import { systemTurns } from '../registry/api.ts'
import { workspaceResources } from '../registry/resources.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Storage } from '../storage/storage.ts'
import { Announcements } from '../turns/announcements.ts'
import { actorDriver } from '../turns/driver.ts'
import type { TurnAuthorizer } from '../turns/turn-authorizer.ts'
import { TurnExecutor } from '../turns/turn-executor.ts'
import { TurnOutcomes } from '../turns/turn-outcomes.ts'
import { Turns } from '../turns/turn-runner.ts'
import { workspaceLogs } from '../turns/workspace-logs.ts'
import { previewOpener, whepLink } from './media-preview.ts'
import { iceLinks, whipAsker } from './media-whip.ts'
import { destinationTester } from './destination-tests.ts'
import { mediaWorkOf } from './media-work.ts'
import { mainThread } from './main-thread.ts'
import { FfmpegMissing } from '../content/errors.ts'
import type { FfmpegSearch } from '../setup/ffmpeg.ts'

/** The resources that `node.ts` or a test opens before the services are composed. */
export interface NodeResources {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly database: Database
  readonly coordination: Coordination
  readonly jobStore: StoreChoice
  readonly storage: Storage
  readonly mailer: Mailer
  readonly metrics: MetricsRegistry
  readonly version: string
  /** The installation's secret. All other keys are derived from it. */
  readonly secret: string
  /** A folder for temporary files of this node. It is emptied when the node starts. */
  readonly scratch: string
  /** Undefined on nodes that need none. */
  readonly ffmpeg: FfmpegSearch | undefined
}

/** The foundation of the domains, and the parts of it that only the node uses. */
export interface Layers {
  readonly foundation: Foundation
  readonly jobs: JobService
  readonly turns: Turns
  readonly turnOutcomes: TurnOutcomes
  readonly executor: TurnExecutor
  readonly announcements: Announcements
  readonly actors: Actors
  /** Resolves when turns can run. */
  readonly ready: Promise<void>
  readonly idempotency: IdempotencyKeys
  readonly mediaWork: ReturnType<typeof mediaWorkOf>
  readonly thread: MainThread
}

/** What the lower layers need to know about the domains. */
interface Declarations extends Declared {
  readonly operations: readonly NamedOperation[]
  readonly jobs: readonly AnyJob[]
  readonly turnAuthorizer: TurnAuthorizer
}

/** Builds the layers below the domains. Turns run once the services were passed to `executor.serve`. */
export function buildLayers(resources: NodeResources, declared: Declarations): Layers {
  const { clock, config, coordination, database, log, metrics, scratch, secret, storage, version } = resources
  const shared = config.REDIS_URL !== undefined
  const idempotency = new IdempotencyKeys(database, clock, new SealedBox(secret, 'idempotent replies'))
  const jobs = new JobService({
    database,
    clock,
    coordination,
    box: new SealedBox(secret, 'jobs'),
    declared: jobsByName(declared.jobs),
  })
  const published: ((workspaceId: string, events: readonly WorkspaceEvent[]) => void)[] = []
  const publish = (workspaceId: string, events: readonly WorkspaceEvent[]) => {
    coordination.publish(`ev:${workspaceId}`, events)
    for (const listener of published) listener(workspaceId, events)
  }
  const announcements = new Announcements({
    database,
    clock,
    log,
    shared,
    publish,
    missed: (workspaceId) => coordination.publish(`missed:${workspaceId}`, {}),
  })
  const turnOutcomes = new TurnOutcomes(database, clock, new SealedStream(secret, 'outcomes of turns'))
  const thread = mainThread(log, metrics)
  const executor = new TurnExecutor({
    database,
    clock,
    log: log.child({ part: 'turns' }),
    operations: new Map(declared.operations.map((operation) => [operation.name, operation])),
    systemTurns: new Map(systemTurns.map((turn) => [turn.name, turn])),
    publish,
    announcements,
    jobs,
    keepReply: (turn, operation, claim, reply) => idempotency.keepWithTurn(turn, operation, claim, reply),
    turnAuthorizer: declared.turnAuthorizer,
    thread,
    ...(shared && { outcomes: turnOutcomes }),
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
  const mediaWork = mediaWorkOf(config, resources.ffmpeg?.ffmpeg, scratch, log.child({ part: 'media work' }), metrics)
  const foundation: Foundation = {
    config,
    log,
    clock,
    version,
    database,
    coordination,
    secret,
    scratch,
    jobs,
    turns,
    logs: workspaceLogs,
    owners: new RowOwners(database, workspaceResources),
    searches: new Searches(database, config.DATABASE_POOL),
    storage,
    links: new SignedLinks(secret, clock),
    mailLimits: new MailLimits(database, clock, secret, config.RATE_LIMITS),
    mediaWork: mediaWork.get,
    requireFfmpeg: () => {
      const isMissing = resources.ffmpeg !== undefined && resources.ffmpeg.ffmpeg === undefined
      if (isMissing && config.ROLES.has('jobs')) throw FfmpegMissing()
    },
    media: {
      openPreview: previewOpener(secret),
      whep: whepLink(secret),
      askWhip: whipAsker(secret),
      testDestination: destinationTester(config, resources.ffmpeg?.ffmpeg?.path, log),
      iceLinks: iceLinks(config.WHIP_ICE_SERVERS),
      checkFitness,
    },
    declared,
    onPublished: (listener) => void published.push(listener),
    onAgain: (listener) => announcements.onAgain(listener),
  }
  return {
    foundation,
    jobs,
    turns,
    turnOutcomes,
    executor,
    announcements,
    actors,
    ready,
    idempotency,
    mediaWork,
    thread,
  }
}
