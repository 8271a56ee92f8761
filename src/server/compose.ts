import type { Actors } from '../../actors/index.ts'
import { api } from '../registry/api.ts'
import { composeAssets } from '../domains/media/assets/index.ts'
import { composeApiKeys, composeAuth } from '../domains/identity/auth/compose.ts'
import { composeChat, findAttachments } from '../domains/talk/chat/index.ts'
import { contextFactory, type ContextFactory } from '../core/context.ts'
import type { AnyJob } from '../core/job.ts'
import { walk, type NamedOperation, type Registry } from '../core/operation.ts'
import type { Authenticator, Channels, Memberships, Owners } from '../core/ports.ts'
import type { SignedLinks } from '../core/signed-links.ts'
import type { Services } from '../core/services.ts'
import { eventTypes } from '../registry/events.ts'
import type { IdempotencyKeys } from '../http/idempotency.ts'
import { previewOpener, whepLink } from './media-preview.ts'
import { findPictures } from '../domains/identity/users/index.ts'
import { composeUsers } from '../domains/identity/users/compose.ts'
import { checkFitness } from '../../media/work/transcode/fitness.ts'
import { iceLinks, whipAsker } from './media-whip.ts'
import { buildLayers, type NodeResources } from './foundation.ts'
import { mailerOf } from './mailer.ts'
import { queueBounds } from './media-work.ts'
import { composeHealth } from '../domains/system/health/compose.ts'
import { composePlans } from '../domains/money/plans/compose.ts'
import { jobs as allJobs } from '../registry/jobs.ts'
import { QueueService } from '../jobs/queue-service.ts'
import type { JobService } from '../jobs/service.ts'
import { composeDestinations } from '../domains/live/destinations/index.ts'
import { composeMediaLink, type DesiredStates } from '../domains/live/media-link/index.ts'
import { composeMediaNodes } from '../domains/live/media-nodes/index.ts'
import { composePreviews } from '../domains/live/previews/index.ts'
import { payerOf } from '../domains/workspace/workspaces/index.ts'
import { composeWorkspaces } from '../domains/workspace/workspaces/compose.ts'
import { MemberTurnAuthorizer } from '../domains/workspace/workspaces/turn-authorizer.ts'
import { composeSwitches } from '../domains/system/switches/compose.ts'
import { assetsInBroadcasts, composePlayout, stopBroadcast } from '../domains/live/playout/index.ts'
import { assetsInSlates, composeStreams, takeOffStreams } from '../domains/live/streams/index.ts'
import { composeRecording, recordingsOfSessions } from '../domains/live/recording/index.ts'
import { composeTeam } from '../domains/workspace/team/index.ts'
import { actorHealth } from '../turns/health.ts'
import type { TurnAuthorizer } from '../turns/turn-authorizer.ts'
import type { Turns } from '../turns/turn-runner.ts'

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
  /** Credentials: `start` prepares logins. */
  readonly auth: Pick<ReturnType<typeof composeAuth>, 'start'>
  readonly memberships: Memberships
  readonly turnAuthorizer: TurnAuthorizer
  readonly channels: Channels
  /** What the media link of a node reads. */
  readonly desiredStates: DesiredStates
  readonly idempotency: IdempotencyKeys
  readonly jobs: JobService
  /** Resolves when turns can run. */
  readonly ready: Promise<void>
  /** Stops timers and waits for turns. The creator of the foundation closes the foundation. */
  close(): Promise<void>
}

/** The composition root: plain constructors, in the order of their dependencies. */
export function compose(
  resources: NodeResources,
  registry: Registry = api,
  declaredJobs: readonly AnyJob[] = allJobs,
): Composition {
  const { clock, config, database, secret, version } = resources
  const operations = walk(registry)
  const turnAuthorizer = new MemberTurnAuthorizer()
  const layers = buildLayers(resources, { operations, jobs: declaredJobs, turnAuthorizer })
  const { actors, announcements, executor, foundation, idempotency, jobs, mediaWork, turns } = layers
  const { links, mailLimits, owners, storage } = foundation
  const mailer = mailerOf(config, clock)

  const health = composeHealth(foundation, { version })
  health.register('actors', () => actorHealth(actors))
  if (config.ROLES.has('jobs')) health.register('mediaWork', mediaWork.probe)
  const switches = composeSwitches(foundation, { services: Object.keys(registry) })

  const plans = composePlans(foundation, { payerOf: (workspaceId) => payerOf(database, workspaceId) })
  const chat = composeChat(foundation, { plans })
  const channels: Channels = chat.memberships
  const workspaces = composeWorkspaces(foundation, { plans, channels, eventTypes })
  const { memberships } = workspaces
  const stopForgetting = memberships.onChange((workspaceId) => executor.forget(workspaceId))
  announcements.onAgain((workspaceId) => {
    memberships.changed(workspaceId)
    chat.memberships.changedIn(workspaceId)
  })
  const apiKeys = composeApiKeys(foundation, {
    workspaceIdsOf: async (sql, userId) => (await workspaces.service.ofUser(userId, sql)).map(({ id }) => id),
  })
  const users = composeUsers(foundation, { apiKeys, subscriptions: plans })
  const auth = composeAuth(foundation, { apiKeys, users: users.accounts })

  const team = composeTeam(foundation, { plans, memberships, channelMembers: chat.services.channelMembers })
  const assets = composeAssets(foundation, {
    plans,
    memberships,
    filesElsewhere: [findAttachments, findPictures],
    checkFitness,
  })

  const mediaNodes = composeMediaNodes(foundation)
  const iceServers = iceLinks(config.WHIP_ICE_SERVERS)
  const destinations = composeDestinations(foundation, {
    plans,
    takeOffStreams: (turn, id) => takeOffStreams(turn, id, new Date(clock.now())),
  })
  const streams = composeStreams(foundation, {
    plans,
    workspaces: workspaces.service,
    mediaNodes: mediaNodes.services,
    stopBroadcast,
    recordingsOf: recordingsOfSessions,
  })
  const previews = composePreviews(foundation, {
    media: mediaNodes.services.directory,
    memberships,
    open: previewOpener(secret),
    whep: whepLink(secret),
    links: iceServers,
  })
  const mediaLink = composeMediaLink(foundation, {
    plans,
    switches,
    memberships,
    workspacesOf: (userId) => workspaces.service.ofUser(userId),
    media: mediaNodes.services.directory,
    destinationKeys: destinations.keys,
    askWhip: whipAsker(secret),
    links: iceServers,
  })

  assets.uses.register(assetsInBroadcasts)
  assets.uses.register(assetsInSlates)

  const services: Services = {
    turns,
    turnOutcomes: layers.turnOutcomes,
    jobs,
    queues: new QueueService({ ...resources, declared: jobs.declared, bounds: queueBounds(config) }),
    idempotency,
    health,
    switches,
    plans,
    storage,
    users,
    auth: auth.services,
    workspaces,
    mailer,
    mailLimits,
    team,
    chat: chat.services,
    mediaNodes: mediaNodes.services,
    destinations: destinations.services,
    streams: streams.services,
    previews,
    mediaLink: mediaLink.services,
    playout: composePlayout(foundation, {
      lifecycle: streams.services.lifecycle,
      mediaNodes: mediaNodes.services.directory,
      notices: mediaNodes.services.notices,
      renditions: assets.renditions,
    }),
    assets,
    recordings: composeRecording(foundation, { assets: assets.library }),
  }
  const context = contextFactory(services)
  executor.serve(services, context)

  return {
    operations,
    services,
    context,
    actors,
    turns,
    owners,
    idempotency,
    jobs,
    ready: layers.ready,
    authenticator: auth.authenticator,
    links,
    auth,
    memberships,
    turnAuthorizer,
    channels,
    desiredStates: mediaLink.desiredStates,
    close: async () => {
      switches.close()
      await auth.close()
      await mailer.close()
      plans.close()
      stopForgetting()
      memberships.close()
      previews.close()
      mediaNodes.close()
      await actors.close(5_000)
      await announcements.close()
      await mediaWork.close()
    },
  }
}
