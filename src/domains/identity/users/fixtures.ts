import { PIXEL } from '../../../../test/support/pixel.ts'
import { newAddress, type Fixtures } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  getProfilePicture: async ({ app, caller }) => {
    const { apiKey } = caller
    const reply = await app.send('POST /api/users/me/picture', { apiKey, file: { name: 'a.png', content: PIXEL } })
    const [, , , , pictureId = '', size = ''] = (reply.body.data.pictureUrl as string).split('/')
    return { path: { pictureId, size } }
  },
  createUserWithApiKey: async () => ({ body: { email: newAddress(), name: 'Made by an administrator' } }),
}
