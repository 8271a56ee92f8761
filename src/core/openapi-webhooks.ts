import type { EventType } from './event.ts'
import { EXAMPLE, EXAMPLE_TIME } from './example-ids.ts'
import type { ComponentSchemas, Json } from './openapi-schemas.ts'
import { Id, Timestamp, Type } from './schema.ts'
import { MESSAGE_VERSION, TEST_TYPE } from './webhook-messages.ts'

/** Example of the number of an event. */
const SEQ = 1_201

interface Sent {
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly data: EventType['data']
  readonly example: unknown
  /** The number of the event. */
  readonly seq: number
}

/** The message of `testWebhook`. */
const TEST: Sent = {
  name: TEST_TYPE,
  summary: 'A member has sent a test',
  description: 'Sent once, whatever events the webhook gets. It is about no event, so `seq` is 0.',
  data: Type.Object({ webhookId: Id }),
  example: { webhookId: EXAMPLE.webhookId },
  seq: 0,
}

/** Not the tag of the operations on webhooks: generators write a file for each tag, for either. */
export const WEBHOOK_TAG = { name: 'webhook-messages', description: 'What webhooks send to your endpoint' }

/**
 * The messages that webhooks send: one for each event with a sequence number, by the event's name, and the test. Unlike
 * the names of paths, these names are free.
 */
export function webhooksOf(events: readonly EventType[], schemas: ComponentSchemas): Record<string, Json> {
  const sent = [TEST, ...events.filter(({ stored }) => stored !== false).map(sentOf)]
  const sorted = sent.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return Object.fromEntries(sorted.map((message) => [message.name, { post: describe(message, schemas) }]))
}

function sentOf({ data, description, example, name, scope, summary }: EventType): Sent {
  const words = `Sent if the webhook’s reader has the scope \`${scope}\`. Events of a private channel need its membership, too.`
  return { name, summary, description: [description, words].filter(Boolean).join('\n\n'), data, example, seq: SEQ }
}

function describe({ data, description, example, name, seq, summary }: Sent, schemas: ComponentSchemas): Json {
  return {
    operationId: `on${name.replaceAll(/(?:^|\.)(\w)/g, (_all, letter: string) => letter.toUpperCase())}`,
    tags: [WEBHOOK_TAG.name],
    summary,
    description,
    parameters: HEADERS.map(([header, what, value]) => ({
      name: header,
      in: 'header',
      required: true,
      description: what,
      schema: { type: 'string' },
      example: value,
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: messageOf(name, schemas.write(data), schemas),
          example: exampleOf(name, seq, example),
        },
      },
    },
    responses: {
      '2XX': { description: 'The event was received. The content of the reply does not matter' },
      '410': { description: 'The endpoint wants no more events: the webhook is disabled' },
      default: {
        description:
          'The event is sent again later. `Retry-After`, in seconds or as a date, sets the earliest time, up to 12 hours from then',
      },
    },
  }
}

const ID = `evt_${EXAMPLE.workspaceId.replaceAll('-', '')}_${SEQ}`

const HEADERS = [
  ['webhook-id', 'Id of the message, the same in every attempt and replay. Use it to ignore repeated messages', ID],
  ['webhook-timestamp', 'Time of the attempt, seconds since 1970. Refuse times that are far from now', '1795372200'],
  [
    'webhook-signature',
    'Signatures by Standard Webhooks, separated by spaces: `v1,` and the HMAC-SHA256 in base64 of `<webhook-id>.<webhook-timestamp>.<body>`. One of them must be right',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
] as const

function messageOf(name: string, data: Json, schemas: ComponentSchemas): Json {
  return {
    type: 'object',
    required: ['id', 'type', 'timestamp', 'version', 'workspaceId', 'seq', 'data'],
    properties: {
      id: { type: 'string', description: 'The value of `webhook-id`' },
      type: { type: 'string', const: name },
      timestamp: schemas.write(Timestamp),
      version: {
        type: 'integer',
        const: MESSAGE_VERSION,
        description: 'Version of this schema. Fields can be added without a new one',
      },
      workspaceId: { type: 'string', format: 'uuid' },
      seq: { type: 'integer', description: 'Sequence number of the event in the workspace; 0 for a test' },
      data,
    },
  }
}

function exampleOf(type: string, seq: number, data: unknown): Json {
  const { workspaceId } = EXAMPLE
  const id = seq === 0 ? `test_${EXAMPLE.deliveryId.replaceAll('-', '')}` : ID
  return { id, type, timestamp: EXAMPLE_TIME, version: MESSAGE_VERSION, workspaceId, seq, data }
}
