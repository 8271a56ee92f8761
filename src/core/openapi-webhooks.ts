import type { EventType } from './event.ts'
import { EXAMPLE, EXAMPLE_TIME } from './example-ids.ts'
import type { ComponentSchemas, Json } from './openapi-schemas.ts'
import { Timestamp } from './schema.ts'

/** Example of the number of an event. */
const SEQ = 1_201

/**
 * The messages that webhooks send: one for each event with a sequence number, by the event's name. Unlike the names of
 * paths, these names are free.
 */
export function webhooksOf(events: readonly EventType[], schemas: ComponentSchemas): Record<string, Json> {
  const sent = events.filter(({ stored }) => stored !== false).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return Object.fromEntries(sent.map((event) => [event.name, { post: describe(event, schemas) }]))
}

function describe(event: EventType, schemas: ComponentSchemas): Json {
  const { data, description, example, name, scope, summary } = event
  const words = `Sent if the webhook’s reader has the scope \`${scope}\`. Events of a private channel need its membership, too.`
  return {
    tags: ['webhooks'],
    summary,
    description: [description, words].filter(Boolean).join('\n\n'),
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
          example: exampleOf(name, example),
        },
      },
    },
    responses: {
      '2XX': { description: 'The event was received. The content of the reply does not matter' },
      '410': { description: 'The endpoint wants no more events: the webhook is disabled' },
      default: { description: 'The event is sent again later' },
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
        const: 1,
        description: 'Version of this schema. Fields can be added without a new one',
      },
      workspaceId: { type: 'string', format: 'uuid' },
      seq: { type: 'integer', description: 'Sequence number of the event in the workspace' },
      data,
    },
  }
}

function exampleOf(type: string, data: unknown): Json {
  return { id: ID, type, timestamp: EXAMPLE_TIME, version: 1, workspaceId: EXAMPLE.workspaceId, seq: SEQ, data }
}
