import type { Fault } from '../../sandbox/faults.ts'
import type { App } from './app.ts'

/** Has the sandbox of a platform produce a fault. */
export async function addFault(app: App, platform: string, fault: Fault): Promise<void> {
  const reply = await fetch(`${sandboxUrl(app, platform)}/_sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  })
  if (reply.status !== 204) throw new Error(`a fault for ${platform}: ${reply.status}`)
}

/** Has the sandbox refuse the next request for a path. */
export function refuseNext(app: App, platform: string, path: string): Promise<void> {
  return addFault(app, platform, { path, kind: 'status', status: 422, times: 1 })
}

/** What the sandbox of Mastodon says that its software is. `pixelfed` ignores Idempotency-Keys. */
export async function setSoftware(app: App, name: string): Promise<void> {
  const reply = await fetch(`${sandboxUrl(app, 'mastodon')}/_software`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  })
  if (reply.status !== 200) throw new Error(`the software of Mastodon: ${reply.status}`)
}

export interface SandboxPost {
  readonly id: string
  readonly account: string
  readonly text: string
  readonly replyTo: string | null
}

/** What was published at the sandbox of a platform. */
export async function sandboxPosts(app: App, platform: string): Promise<readonly SandboxPost[]> {
  const reply = await fetch(`${sandboxUrl(app, platform)}/posts`)
  return (await reply.json()) as SandboxPost[]
}

/** The address of the sandbox of a platform. */
export function sandboxUrl({ node }: App, platform: string): string {
  return node.resources.config.PLATFORMS[platform]?.sandboxUrl ?? ''
}
