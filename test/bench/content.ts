/**
 * Cached public content against bare uWebSockets.js, which sends the same bytes from memory: `npm run bench:content`.
 *
 * A list of 20 posts of the blog, and one post with its HTML, without credentials. The goal is 20,000 requests per
 * second on two cores, or half of bare uWebSockets.js. The sides alternate for several rounds; the figures are medians.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { COLUMNS, compare } from './support/compare.ts'
import { machine, start, type Running } from './support/process.ts'
import { startBenchServer } from './support/workspace.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 5)
const CONNECTIONS = 64
const POSTS = 200

const blog = mkdtempSync(join(tmpdir(), 'crier-blog-'))
const paragraph = 'A post of the blog has **some text**, a [link](https://example.com) and `code`. '
for (let index = 0; index < POSTS; index += 1) {
  const day = new Date(Date.UTC(2025, 0, 1 + index)).toISOString()
  const front = `---\ntitle: Post ${index}\npublishedAt: ${day}\nsummary: The post with the number ${index}\ncategories: [News]\n---\n`
  writeFileSync(join(blog, `post-${index}.md`), `${front}\n${`${paragraph.repeat(5)}\n\n`.repeat(8)}`)
}
const server = await startBenchServer({ BLOG_DIR: blog })
const baselines: Running[] = []

try {
  console.log(`Machine: ${machine()}\n`)
  console.log(COLUMNS)
  for (const [title, path] of [
    ['list of 20 posts', '/api/blog/posts?limit=20'],
    ['a post', `/api/blog/posts/post-${POSTS - 1}`],
  ] as const) {
    const file = join(server.folder, `${title.replaceAll(' ', '-')}.json`)
    writeFileSync(file, await (await fetch(server.url + path)).text())
    const port = await freeLoopbackPort()
    const bare = await start(
      [new URL('./baselines/bare-uws.ts', import.meta.url).pathname, String(port), file],
      /ready/,
    )
    baselines.push(bare)
    const get = (url: string) => (connections: number) => ({ url, connections, seconds: SECONDS })
    await compare({
      title,
      ours: { name: 'Crier', running: server.crier, load: get(server.url + path) },
      baseline: { name: 'bare uWS', running: bare, load: get(`http://127.0.0.1:${port}/`) },
      connections: CONNECTIONS,
      by: 'perSecond',
      rounds: ROUNDS,
    })
  }
} finally {
  for (const baseline of baselines) await baseline.stop()
  await server.stop()
  rmSync(blog, { recursive: true, force: true })
}
