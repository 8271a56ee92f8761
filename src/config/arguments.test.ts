import { expect, test } from 'vitest'
import { settingsOf } from './arguments.ts'

test('--sandbox turns the sandbox on, and other arguments are refused by name', () => {
  expect(settingsOf([])).toEqual({})
  expect(settingsOf(['--sandbox'])).toEqual({ SANDBOX: '1' })
  expect(() => settingsOf(['--sandbox', '--port=1'])).toThrow('--port=1 is unknown')
})
