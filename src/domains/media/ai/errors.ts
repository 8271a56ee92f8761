import { defineError } from '../../../core/error.ts'

export const NotEnoughPosts = defineError({
  code: 'not_enough_posts',
  status: 409,
  message: 'There are not enough published posts to derive a style.',
  cause: 'A style is derived from at least three published posts with a text. The message says how many there are.',
  fix: 'Publish more posts, then try again.',
})

export const AiModelUnknown = defineError({
  code: 'ai_model_unknown',
  status: 409,
  message: 'The AI model of the workspace is not available on this server.',
  cause: 'The AI settings of the workspace name a model that is not in the setting `AI_MODELS` of the server.',
  fix: 'Choose one of the models in the message with PATCH /api/workspaces/{workspaceId}/ai-settings, or null for the default.',
})
