import type { DestinationTest } from '../../../../media/relay/test-destination.ts'
import { SECOND } from '../../../core/clock.ts'
import { Conflict, NotFound, Overloaded } from '../../../core/errors.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { Provided } from '../../../core/provided.ts'
import type { Foundation } from '../../../foundation.ts'
import { PublicTestUnconfirmed } from './errors.ts'
import { rtmpDestinationTested } from './events.ts'
import { livePlatform, LIVE_PLATFORM_NAMES, type LivePlatformName } from './live-platforms.ts'
import { markWorked } from './lookups.ts'
import type { RtmpDestinationTestData } from './schemas.ts'
import { rtmpDestinations } from './tables.ts'
import { wordsOf } from './test-words.ts'

/** Longer than every time-out of a test together. A node that dies during a test blocks the next one for this long. */
const LEASE_MS = 45 * SECOND
/** Tests of one workspace at a time. */
const MAX_PER_WORKSPACE = 2
/** Tests on one node at a time. */
const MAX_PER_NODE = 20

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'media'> & { readonly keys: SealedBox }

/** Finds the title of a live stream that uses a destination. */
type FindLiveStream = (sql: Sql, destinationId: string) => Promise<string | undefined>

/** Tests of RTMP destinations: one at a time for each, few for a workspace and for a node. */
export class RtmpDestinationTests {
  readonly liveStream = new Provided<FindLiveStream>('live streams of a destination')
  readonly #dependencies: Dependencies
  #running = 0

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Connects, publishes five seconds, and closes.
   * @throws AppError not_found, conflict, overloaded, public_test_unconfirmed
   */
  async run(workspaceId: string, id: string, confirmPublic = false): Promise<RtmpDestinationTestData> {
    const { database, keys, media } = this.#dependencies
    if (this.#running >= MAX_PER_NODE) throw Overloaded({ retryAfter: 10 })
    this.#running += 1
    try {
      const { keySealed, url } = await this.#begin(workspaceId, id, confirmPublic)
      try {
        return viewOf(id, await media.testDestination({ url, streamKey: keys.open(keySealed) }))
      } finally {
        await rtmpDestinations.update(database, { id }, { testUntil: null })
      }
    } finally {
      this.#running -= 1
    }
  }

  /** Records a test in the turn of its request. @throws AppError not_found if the destination was deleted meanwhile */
  async record(turn: Turn, report: RtmpDestinationTestData): Promise<void> {
    const { passed, rtmpDestinationId: id } = report
    if (!(await rtmpDestinations.exists(turn.sql, { id, workspaceId: turn.workspaceId }))) throw NotFound()
    if (passed) await markWorked(turn.sql, [id], new Date(this.#dependencies.clock.now()).toISOString())
    turn.audit({ kind: 'rtmp_destination', id, details: { passed, failedStep: report.failedStep } })
    turn.emit(rtmpDestinationTested, { rtmpDestinationId: id, passed })
  }

  /** Takes the lease of a destination. The lock makes concurrent requests of a workspace wait for each other. */
  #begin(workspaceId: string, id: string, confirmPublic: boolean) {
    const { clock, database } = this.#dependencies
    return database.transaction(async (tx) => {
      const columns = ['id', 'url', 'platform', 'keySealed', 'testUntil'] as const
      const rows = await rtmpDestinations.find(
        tx,
        { workspaceId },
        { columns, orderBy: ['id asc'], lock: 'for update' },
      )
      const row = rows.find((one) => one.id === id)
      if (row === undefined) throw NotFound()
      const platform = publicPlatformOf(row)
      if (platform !== undefined && !confirmPublic) throw unconfirmed(platform)
      const live = await this.liveStream.get()(tx, id)
      if (live !== undefined) {
        throw Conflict({
          message: `The stream “${live}” is live with this destination, and a test would end it there.`,
        })
      }
      const running = rows.filter(({ testUntil }) => testUntil !== null && Date.parse(testUntil) > clock.now())
      if (running.includes(row))
        throw Conflict({ message: 'A test of this destination is running. Wait for its result.' })
      if (running.length >= MAX_PER_WORKSPACE) {
        throw Conflict({ message: 'Two tests of this workspace are running. Wait until one of them is done.' })
      }
      await rtmpDestinations.update(tx, { id }, { testUntil: new Date(clock.now() + LEASE_MS) })
      return row
    })
  }
}

/** The platform that may show a test to its viewers: the chosen one, or the one that the server belongs to. */
function publicPlatformOf({ platform, url }: { platform: LivePlatformName | null; url: string }) {
  if (platform !== null) return platform
  const host = URL.parse(url)?.hostname.toLowerCase() ?? ''
  const isOf = (name: LivePlatformName) =>
    livePlatform(name).hosts?.some((known) => host === known || host.endsWith(`.${known}`)) === true
  return LIVE_PLATFORM_NAMES.find(isOf)
}

function unconfirmed(platform: LivePlatformName) {
  const { label } = livePlatform(platform)
  const message = `${label} may show the five seconds of the test to your viewers, and tell your followers that you are live. Send "confirmPublic": true to test it anyway.`
  return PublicTestUnconfirmed({ message, details: { platform } })
}

function viewOf(rtmpDestinationId: string, test: DestinationTest): RtmpDestinationTestData {
  return {
    rtmpDestinationId,
    passed: test.failed === null,
    steps: [...test.passed],
    failedStep: test.failed,
    code: test.fault?.code ?? null,
    ...wordsOf(test),
    sent: test.sent,
    sentBytes: test.bytesSent,
    acknowledgedBytes: test.bytesAcknowledged,
    durationMs: test.ms,
  }
}
