import theme from 'vitepress/theme-without-fonts';
import type { Theme } from 'vitepress';
import Playground from './Playground.vue';
import './style.css';

export default {
  extends: theme,
  enhanceApp: ({ app }) => void app.component('Playground', Playground),
} satisfies Theme;
