import { afterAll, beforeAll, describe, test } from 'vitest'
import { startPds, type Pds, type PdsAccount } from '../support/pds.ts'
import { PIXEL } from '../support/pixel.ts'
import { faultProxy, type FaultProxy } from '../support/fault-proxy.ts'
import { PublicationStage } from '../support/publication.ts'
import { startWordPress, type WordPress } from '../support/wordpress.ts'
import { cellsOf, Column, type ColumnPeer } from './publishing-cells.ts'

/**
 * Two columns of the matrix at real servers, behind a proxy that cuts connections and loses replies: Bluesky at a PDS, and
 * a WordPress site. `npm run faults:publishing` checks all cells, and `npm test` a part of them.
 */

const SHARE = 4

const image = {
  kind: 'image',
  type: 'image/png',
  name: 'pixel.png',
  content: Buffer.from(PIXEL),
  width: 1,
  height: 1,
} as const

/** The server compares times with its own clock. */
const realTime = () => Date.now()

describe('Bluesky at a real PDS', () => {
  let pds: Pds
  let proxy: FaultProxy
  let stage: PublicationStage
  let ada: PdsAccount
  const column = new Column('bluesky', (): ColumnPeer => ({ stage, image, addFault: faultsOf(proxy), texts }))

  beforeAll(async () => {
    pds = await startPds()
    proxy = await faultProxy(pds.url)
    const { plcUrl } = pds
    stage = await PublicationStage.start({
      now: Date.now(),
      platformTime: realTime,
      env: {
        SANDBOX: '0',
        BLUESKY_API_URL: proxy.url,
        BLUESKY_AUTH_URL: proxy.url,
        ATPROTO_PLC_URL: plcUrl,
        ATPROTO_VIDEO_URL: plcUrl,
      },
    })
    ada = await pds.createAccount('ada')
    const appPassword = await ada.appPassword('crier')
    await stage.connect('bluesky', { handle: ada.handle, appPassword, server: proxy.url })
  })
  afterAll(async () => {
    await stage?.stop()
    await proxy?.close()
    await pds?.stop()
  })

  async function texts(): Promise<string[]> {
    const { data } = await ada.agent.com.atproto.repo.listRecords({
      repo: ada.did,
      collection: 'app.bsky.feed.post',
      limit: 100,
    })
    return data.records.map(({ value }) => String(value['text']))
  }

  test.each(cellsOf(0, SHARE))('$fault $name', (cell) => column.check(cell))
})

describe('a real WordPress site', () => {
  let site: WordPress
  let proxy: FaultProxy
  let stage: PublicationStage
  const column = new Column('wordpress', (): ColumnPeer => ({ stage, image, addFault: faultsOf(proxy), texts }))

  beforeAll(async () => {
    site = await startWordPress()
    proxy = await faultProxy(site.url)
    stage = await PublicationStage.start({
      now: Date.now(),
      platformTime: realTime,
      env: { SANDBOX: '0', ALLOW_PRIVATE_ADDRESSES: '1' },
    })
    await site.addUser('editor_eve', 'editor')
    const applicationPassword = await site.applicationPassword('editor_eve', 'Crier')
    await stage.connect('wordpress', { site: proxy.url, username: 'editor_eve', applicationPassword })
  })
  afterAll(async () => {
    await stage?.stop()
    await proxy?.close()
    await site?.stop()
  })

  async function texts(): Promise<string[]> {
    const [posts, comments] = await Promise.all([site.posts(), site.comments()])
    return [...posts, ...comments].map(({ content }) => content)
  }

  test.each(cellsOf(1, SHARE))('$fault $name', (cell) => column.check(cell))
})

function faultsOf({ faults }: FaultProxy): ColumnPeer['addFault'] {
  return (fault) => Promise.resolve(faults.add(fault))
}
