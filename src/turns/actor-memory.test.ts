import { expect, test } from 'vitest'
import { ActorMemories, type ActivationMemory } from './actor-memory.ts'

const NOTES = { name: 'notes', make: () => [] as string[] }

/** Whether an actor still has its memory. */
const remembers = (memories: ActorMemories, actor: string, memory: ActivationMemory) => memories.of(actor, 1) === memory

test('an actor keeps what its turns remember, until its epoch changes', () => {
  const memories = new ActorMemories()
  const memory = memories.of('ws:1', 1)
  memory.get(NOTES).push('one')
  expect(memories.of('ws:1', 1)).toBe(memory)
  expect(memories.of('ws:1', 1).get(NOTES)).toEqual(['one'])
  expect(memories.of('ws:2', 1).get(NOTES)).toEqual([])
  expect(memories.of('ws:1', 2).get(NOTES)).toEqual([])
})

test('an actor, or all actors, forget on request', () => {
  const memories = new ActorMemories()
  const [one, two] = [memories.of('ws:1', 1), memories.of('ws:2', 1)]
  memories.forget('ws:1')
  expect(remembers(memories, 'ws:1', one)).toBe(false)
  expect(remembers(memories, 'ws:2', two)).toBe(true)
  memories.forgetAll()
  expect(remembers(memories, 'ws:2', two)).toBe(false)
})

test('4,096 actors have a memory, and the one that ran longest ago loses it', () => {
  const memories = new ActorMemories()
  const first = memories.of('ws:0', 1)
  const second = memories.of('ws:1', 1)
  for (let index = 2; index < 4_096; index += 1) memories.of(`ws:${index}`, 1)
  expect(remembers(memories, 'ws:0', first)).toBe(true)
  memories.of('ws:4096', 1)
  expect(remembers(memories, 'ws:0', first)).toBe(true)
  expect(remembers(memories, 'ws:1', second)).toBe(false)
})
