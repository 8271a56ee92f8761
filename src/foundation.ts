import type { Readable } from 'node:stream'
import type { DestinationTest } from '../media/relay/test-destination.ts'
import type { WhipReply, WhipRequest } from '../media/types.ts'
import type { OpenedWhep } from '../media/whip/whep/proxy.ts'
import type { SourceFacts } from '../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../media/work/transcode/spec.ts'
import type { MediaWork } from '../media/work/types.ts'
import type { Config } from './config/config.ts'
import type { Coordination } from './coordination/coordination.ts'
import type { Clock } from './core/clock.ts'
import type { EventType, WorkspaceEvent } from './core/event.ts'
import type { Jobs } from './core/job.ts'
import type { Logger } from './core/log.ts'
import type { NotificationType } from './core/notification.ts'
import type { PersonalData } from './core/personal-data.ts'
import type { SignedLinks } from './core/signed-links.ts'
import type { TurnRunner } from './core/system-turn.ts'
import type { WorkspaceLogs } from './core/workspace-logs.ts'
import type { Database } from './db/database.ts'
import type { RowOwners } from './db/owners.ts'
import type { Searches } from './db/searches.ts'
import type { MailLimits } from './mail/limits.ts'
import type { Storage } from './storage/storage.ts'

/**
 * The services of the layers below the domains, which every domain can use. `compose` of a domain gets it (`src/domain.ts`), and
 * `src/server/foundation.ts` builds it, once per node.
 */
export interface Foundation {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly version: string
  readonly database: Database
  readonly coordination: Coordination
  /** The installation's secret, from which every other key is derived. */
  readonly secret: string
  /** A folder for temporary files of this node. It is empty when the node starts. */
  readonly scratch: string
  readonly jobs: Jobs
  readonly turns: TurnRunner
  /** Audit entries and events, which turns write. */
  readonly logs: WorkspaceLogs
  readonly owners: RowOwners
  readonly searches: Searches
  readonly storage: Storage
  readonly links: SignedLinks
  readonly mailLimits: MailLimits
  /** Work on media files. Its processes start with the first call. */
  readonly mediaWork: () => Promise<MediaWork>
  /**
   * @throws AppError ffmpeg_missing if the nodes that process media are like this one and it has no ffmpeg. A node without
   * the role `jobs` cannot know, so it throws nothing
   */
  readonly requireFfmpeg: () => void
  readonly media: MediaCalls
  readonly declared: Declared
  /**
   * Adds a listener that runs on the node that publishes committed events of a workspace, or publishes them again. It must
   * return at once and not throw.
   */
  readonly onPublished: (listener: (workspaceId: string, events: readonly WorkspaceEvent[]) => void) => void
  /** Adds a listener that runs when events of a workspace are published again, because notices may have been lost. */
  readonly onAgain: (listener: (workspaceId: string) => void) => void
}

/** What all domains declare together. */
export interface Declared {
  /** The names of the services that administrators switch. */
  readonly services: readonly string[]
  readonly eventTypes: ReadonlyMap<string, EventType>
  readonly notificationTypes: ReadonlyMap<string, NotificationType>
  /** What all tables hold on persons. */
  readonly personal: PersonalData
}

/** Code of `media/` that domains call. They may import only its types. */
export interface MediaCalls {
  readonly openPreview: OpenPreview
  readonly whep: WhepLink
  readonly askWhip: AskWhip
  readonly testDestination: TestDestination
  /** Values of the Link header that help WHIP and WHEP clients to connect. */
  readonly iceLinks: readonly string[]
  /** @throws MediaWorkError if such a rendition cannot be made of the file */
  readonly checkFitness: (spec: TranscodeSpec, source: SourceFacts) => void
}

/**
 * Opens a stream's FLV at the media node of this address (`host:port`). A rejection says in `reason` whether the node
 * does not have the stream (`gone`), has too many viewers (`full`), or does not answer.
 */
export type OpenPreview = (address: string, streamId: string) => Promise<Readable>

/** Has the media node at an address show a stream over WebRTC. A rejection means that it does not answer. */
export interface WhepLink {
  /** Undefined when it does not have the stream. */
  readonly open: (address: string, streamId: string, sdp: string) => Promise<OpenedWhep | undefined>
  /** @returns whether there was such a session */
  readonly end: (address: string, streamId: string, session: string) => Promise<boolean>
}

/** Publishes five seconds of the slate to a server, and reports how far it got. Never retries. */
export type TestDestination = (destination: {
  readonly url: string
  readonly streamKey: string
}) => Promise<DestinationTest>

/** Asks the media process of another node, at `host:port`. A rejection means that it does not answer. */
export type AskWhip = (address: string, request: WhipRequest) => Promise<WhipReply>
