import {
  Change,
  CHANGE_DATA,
  CHANGE_KINDS,
  ChannelState,
  MessageView,
  Snapshot,
  SyncPage,
} from '../../../src/domains/talk/chat/schemas.ts'
import { nameOf, type TProperties, type TSchema, Type } from '../../../src/core/schema.ts'
import type { TypeWriter } from './type-writer.ts'

/** The types of `src/domains/talk/chat/schemas.ts` that the socket client uses, by the names that they have there. */
const SCHEMAS: Readonly<Record<string, TSchema>> = {
  ChangeData: Change,
  ChannelData: ChannelState,
  MessageData: MessageView,
  SnapshotData: Snapshot,
  SyncData: SyncPage,
}

/** A change is a union by its `type`; its schema, made for a serializer, is one object for all kinds. */
export function narrowChange(writer: TypeWriter): void {
  const { properties } = Change as unknown as { properties: TProperties }
  const kinds = CHANGE_KINDS.map((kind) =>
    Type.Object({ ...properties, type: Type.Literal(kind), data: CHANGE_DATA[kind] }),
  )
  writer.narrow(Change, kinds)
}

/** `src/domains/talk/chat/schemas.ts` with its types written out, as far as the socket client uses them. */
export function chatDeclarations(writer: TypeWriter): string {
  const names = Object.entries(SCHEMAS).map(([name, schema]) => `${writer.typeOf(schema)} as ${name}`)
  return `import type { ${nameOf(Change)} } from '../../../schemas.ts'

export type { ${names.join(', ')} } from '../../../schemas.ts'
export type ChangeKind = ${nameOf(Change)}['type']
`
}
