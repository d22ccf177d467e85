from __future__ import annotations

from polyglot_book.wording import script_of, simplified_in, traditional_in

TRADITIONAL = """
皇后 太后 后妃 公里 里程 鄰里 海里 里長 台灣 臺灣 台北 平台 舞台 只有 一隻 只能 面積 平面 麵包 干擾 乾淨
主幹 若干 系統 關係 聯繫 星系
對於 於是 準備 標準 批准 茶几 幾個 占有 佔據 游泳 遊戲 岩石 秘密 秘書 祕密 凶手 兇手 床 峰值 群組
粽子 雇用 僱用 採用 風采 范先生 範圍
征服 特徵 象徵 郁金香 憂鬱 吃飯 注意力 註解 注釋 著作 看著 接著 裡面 裏面 為什麼 爲何 並且 併購 公厘
煙熏 涂先生 客庄 拮据 佣金 傭人 夥伴 伙食
斗六 戰鬥 丑時 醜陋 山谷 稻穀 谷歌 歷史 日曆 松樹 放鬆 發現 頭髮 復習 複雜 重複 反覆 制度 製作 鐘錶 表格
捲積 卷積 循環 迴圈 回傳 詞彙 彙總 匯入
向量 矩陣 張量 查詢 鍵 值 權重 遮罩 縮放 點積 訓練 資料 程式碼 列 行 維度 層 頭 編碼器 解碼器 殘差
正規化 機率 梯度 參數 偏差 緩衝區 云云 余先生
"""
SIMPLIFIED = """
皇后 后面 公里 这里 里面 台湾 平台 只有 一只 面积 面包 干扰 干净 主干 若干 系统 关系 联系 于是 对于 准备
标准 茶几 几个 占有 游戏 岩石 秘密 凶手 床 峰值
群组 雇用 采用 范围 征服 特征 象征 郁金香 忧郁 注意力 注解 著作 著名 显著 看着 为什么 并且 乾坤 乾隆
瞭望 瞭解 明瞭 藉口 慰藉 狼藉 了解 拮据 伙伴 夥同
回复 答复 复杂 重复 反覆 覆盖 颠覆 制度 制作 表格 卷积 循环 词汇 向量 矩阵 张量 查询 键 值 权重 掩码
缩放 点积 训练 数据 代码 行 列 维度 层 头 编码器 解码器
残差 归一化 概率 梯度 参数 偏差 缓冲区 昇腾 宋祖英 余额 剩余 徐庶 像素 图像 想象 唯一 惟一 份额 身份
成分 做法 作为 账号 帐篷 粘贴 黏土 噪声 噪音
"""
WRONG_IN_TRADITIONAL = """
这里 为什么 说明 学习 头 张量 码 矩阵 维度 词 权重 层 编码 变量 门 问题 线
图 计算 数据 输入 训练 让 该 则 应 个 两 后面 最后 以后 里面 哪里 对于 等于
于是 什么 并且 与 无限 万 体 机器 极大 确定 种类 适合 种 优化 据说 复杂 离开
异常 宁可 气
"""
WRONG_IN_SIMPLIFIED = """
這裡 為什麼 爲何 說明 學習 頭 張量 碼 矩陣 維度 詞 權重 層 編碼 變量 門 問題
線 圖 計算 數據 輸入 訓練 讓 該 則 應 個 兩 後面 最後 對於 於是 並且 與
無限 萬 體 機器 極大 特徵 乾淨 裏面 裡面 臺灣 複雜 離開 擾動
"""


def test_natural_text_raises_no_alarm() -> None:
    assert [word for word in TRADITIONAL.split() if simplified_in(word)] == []
    assert [word for word in SIMPLIFIED.split() if traditional_in(word)] == []


def test_every_word_of_the_other_script_is_found() -> None:
    assert [word for word in WRONG_IN_TRADITIONAL.split() if not simplified_in(f"我們看{word}。")] == []
    assert [word for word in WRONG_IN_TRADITIONAL.split() if traditional_in(word)] == []
    assert [word for word in WRONG_IN_SIMPLIFIED.split() if not traditional_in(f"我们看{word}。")] == []
    assert [word for word in WRONG_IN_SIMPLIFIED.split() if simplified_in(word)] == []


def test_each_character_is_named_once_in_order() -> None:
    assert simplified_in("学习矩阵，学习。") == ["学", "习", "阵"]
    assert traditional_in("學習矩陣，學習。") == ["學", "習", "陣"]


def test_the_script_of_a_language() -> None:
    codes = ["zh-TW", "zh-HK", "zh-Hant", "zh-CN", "zh-SG", "zh", "zh-Hans-HK", "ko", "en"]
    assert [script_of(code) for code in codes] == ["Hant"] * 3 + ["Hans"] * 4 + ["", ""]
