import { createChannel } from '../../src/domains/talk/chat/channel-operations.ts'
import { sendMessage } from '../../src/domains/talk/chat/message-operations.ts'
import type { App } from './app.ts'
import type { Reply } from './send.ts'
import { ApiCaller, type World } from './world.ts'

let count = 0

/** A channel in a test's world, with the most common actions. */
export class TestChannel {
  readonly world: World
  readonly path: { readonly workspaceId: string; readonly channelId: string }

  constructor(world: World, workspaceId: string, channelId: string) {
    this.world = world
    this.path = { workspaceId, channelId }
  }

  /** Creates a channel as the user `by`; private with `memberIds`. */
  static async make(world: World, workspace: string, by: string, more: object = {}): Promise<TestChannel> {
    count += 1
    const workspaceId = world.id(workspace)
    const body = { kind: 'channel', name: `channel ${count}`, ...more }
    const made = await world.as(by).call(createChannel, { path: { workspaceId }, body })
    if (made.status !== 201) throw new Error(`a channel could not be created: ${made.text}`)
    return new TestChannel(world, workspaceId, made.body.data._id)
  }

  get id(): string {
    return this.path.channelId
  }

  /** @param app the node to call; the world's own when absent */
  as(name: string, app: App = this.world.app): ApiCaller {
    return new ApiCaller(app, { apiKey: this.world.key(name) })
  }

  /** Sends a message. @returns the reply */
  trySend(name: string, body: string, more: object = {}, app?: App): Promise<Reply> {
    return this.as(name, app).call(sendMessage, { path: this.path, body: { body, ...more } })
  }

  /** Sends a message that must be accepted. @returns the message */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  async send(name: string, body: string, more: object = {}, app?: App): Promise<any> {
    const reply = await this.trySend(name, body, more, app)
    if (reply.status !== 201) throw new Error(`${name} could not send ${body}: ${reply.text}`)
    return reply.body.data
  }
}
