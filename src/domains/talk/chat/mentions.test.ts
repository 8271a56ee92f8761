import { expect, test } from 'vitest'
import { mentionsIn } from './mentions.ts'

const id = (index: number) => `01939c5e-7a3b-7c21-9f58-${String(index).padStart(12, '0')}`

test('finds users in the order of the text, each once', () => {
  expect(mentionsIn(`<@${id(2)}>, <@${id(1)}> and <@${id(2)}>`)).toEqual({ userIds: [id(2), id(1)], everyone: false })
  expect(mentionsIn(`<!channel> <@${id(1)}>`)).toEqual({ userIds: [id(1)], everyone: true })
})

test('finds none in other text', () => {
  const nobody = { userIds: [], everyone: false }
  expect(mentionsIn(`@${id(1)} !channel`)).toEqual(nobody)
  expect(mentionsIn(`<@${id(1).replaceAll('-', '0')}> < !channel>`)).toEqual(nobody)
})

test('counts the first hundred users', () => {
  const ids = Array.from({ length: 101 }, (_, index) => id(index))
  expect(mentionsIn(ids.map((one) => `<@${one}>`).join('')).userIds).toEqual(ids.slice(0, 100))
})
