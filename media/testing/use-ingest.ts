import { afterEach } from 'vitest'
import { avcFrame } from './media-payloads.ts'
import { startIngest } from './ingest-fixture.ts'
import type { IngestFixture } from './ingest-fixture.ts'
import { TestPublisher } from './publisher.ts'
import type { TestPublisherOptions } from './publisher.ts'

/** Starts ingests and connects publishers. All are closed after each test. */
export interface IngestTools {
  readonly start: typeof startIngest
  readonly connect: (fixture: IngestFixture, options?: Partial<TestPublisherOptions>) => Promise<TestPublisher>
}

export function useIngest(): IngestTools {
  const fixtures: IngestFixture[] = []
  const publishers: TestPublisher[] = []
  afterEach(async () => {
    for (const publisher of publishers.splice(0)) publisher.close()
    for (const fixture of fixtures.splice(0)) await fixture.ingest.close()
  })
  return {
    async start(...parameters) {
      const fixture = await startIngest(...parameters)
      fixtures.push(fixture)
      return fixture
    },
    async connect(fixture, options = {}) {
      const publisher = await TestPublisher.connect({ port: fixture.port, ...options })
      publishers.push(publisher)
      return publisher
    },
  }
}

/** Keeps sending video until the connection is closed. */
export async function floodUntilClosed(publisher: TestPublisher): Promise<void> {
  const flood = setInterval(() => publisher.video(1, avcFrame(false, 10_000, 66)), 2)
  await publisher.closed
  clearInterval(flood)
}
