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

/** The types that the socket client uses from `src/domains/talk/chat/schemas.ts`, under the same names. */
const SCHEMAS: Readonly<Record<string, TSchema>> = {
  ChangeData: Change,
  ChannelData: ChannelState,
  MessageData: MessageView,
  SnapshotData: Snapshot,
  SyncData: SyncPage,
}

/**
 * The type of a change is a union by `type`. Its schema is one object for all kinds, because it is made for a
 * serializer.
 */
export function narrowChange(writer: TypeWriter): void {
  const { properties } = Change as unknown as { properties: TProperties }
  const kinds = CHANGE_KINDS.map((kind) =>
    Type.Object({ ...properties, type: Type.Literal(kind), data: CHANGE_DATA[kind] }),
  )
  writer.narrow(Change, kinds)
}

/** `src/domains/talk/chat/schemas.ts` with the types that the socket client uses written out. */
export function chatDeclarations(writer: TypeWriter): string {
  const names = Object.entries(SCHEMAS).map(([name, schema]) => `${writer.typeOf(schema)} as ${name}`)
  return `import type { ${nameOf(Change)} } from '../../../schemas.ts'

export type { ${names.join(', ')} } from '../../../schemas.ts'
export type ChangeKind = ${nameOf(Change)}['type']
`
}
