import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { page, STRICT } from '../http/page.ts'
import { served } from './served-file.ts'
import type { Page, PageContent } from '../http/server.ts'

const require = createRequire(import.meta.url)
const PLAYER = require.resolve('mpegts.js/dist/mpegts.js')
const compress = promisify(gzip)

/** The page that plays a stream's preview. It loads only our script and player, nothing from other sites. */
export function previewPages(): Page[] {
  let player: Promise<PageContent> | undefined
  return [
    served('/preview/:id', 'preview.html', STRICT),
    served('/pages/preview.css', 'preview.css', STRICT),
    served('/pages/preview.js', 'preview.js', STRICT),
    { path: '/pages/mpegts.js', serve: () => (player ??= readPlayer()) },
  ]
}

/** Compressed once: only browsers load the script, and every browser accepts gzip. */
async function readPlayer(): Promise<PageContent> {
  const script = await compress(await readFile(PLAYER))
  return page('text/javascript; charset=utf-8', script, { ...STRICT, 'Content-Encoding': 'gzip' })
}
