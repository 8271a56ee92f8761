import { MESSAGE_VERSION, TEST_TYPE } from '../../../core/webhook-messages.ts'
import type { LoggedEvent } from '../../../core/workspace-logs.ts'

/** A message to an endpoint. Every attempt sends the same id and body. */
export interface Message {
  readonly messageId: string
  readonly seq: number
  readonly type: string
  readonly payload: string
  readonly personal: boolean
}

/**
 * The message about an event. Its id follows from the event, so that an attempt that is repeated after a crash has the
 * same one.
 */
export function messageOf(workspaceId: string, event: LoggedEvent): Message {
  const { personal, seq, type } = event
  const messageId = `evt_${workspaceId.replaceAll('-', '')}_${seq}`
  const payload = payloadOf({ id: messageId, workspaceId, seq, type, at: event.at, data: event.data })
  return { messageId, seq, type, payload, personal }
}

/** The message of a test. @param id of the delivery */
export function testMessage(workspaceId: string, webhookId: string, id: string, at: string): Message {
  const messageId = `test_${id.replaceAll('-', '')}`
  const payload = payloadOf({ id: messageId, workspaceId, seq: 0, type: TEST_TYPE, at, data: { webhookId } })
  return { messageId, seq: 0, type: TEST_TYPE, payload, personal: false }
}

interface Content {
  readonly id: string
  readonly workspaceId: string
  readonly seq: number
  readonly type: string
  readonly at: string
  readonly data: unknown
}

function payloadOf({ at, data, id, seq, type, workspaceId }: Content): string {
  return JSON.stringify({ id, type, timestamp: at, version: MESSAGE_VERSION, workspaceId, seq, data })
}
